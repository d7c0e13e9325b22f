//! Pictures compared with what must be in them.

use super::raster::{Ball, Line, Paint, Scene, Triangle};
use super::*;
use std::io;

const SQUARE: [[f64; 3]; 6] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];

fn pixel(image: &Image, x: usize, y: usize) -> [u8; 3] {
    let at = 3 * (y * image.width + x);
    image.pixels[at..at + 3].try_into().unwrap()
}

#[test]
fn colours_follow_the_values() {
    let values = SQUARE.map(|p| p[0]);
    let picture = Picture::new(400, 300).surface(Surface {
        positions: &SQUARE,
        values: &values,
        outlines: &[],
    });
    let image = picture.render().unwrap();
    let plot = picture.layout(Some([0.0, 1.0])).plot;
    let side = (plot[2] - plot[0]).min(plot[3] - plot[1]);
    let middle = [(plot[0] + plot[2]) / 2.0, (plot[1] + plot[3]) / 2.0];
    for t in [0.1, 0.25, 0.5, 0.75, 0.9] {
        let x = middle[0] + (t - 0.5) * side;
        let found = pixel(&image, x as usize, middle[1] as usize);
        // The pixel's centre lies up to one pixel from x.
        let at = (x.floor() + 0.5 - middle[0]) / side + 0.5;
        let expected = color::map(at).map(|c| c.round() as u8);
        assert!(
            (0..3).all(|c| found[c].abs_diff(expected[c]) <= 1),
            "{t}: {found:?} {expected:?}"
        );
    }
    assert_eq!(pixel(&image, 1, 1), BACKGROUND);
}

#[test]
fn the_nearer_surface_hides_the_farther() {
    let near = SQUARE.map(|p| [p[0], p[1], 1.0]);
    let (ones, zeros) = ([1.0; 6], [0.0; 6]);
    let top = View::From {
        toward: [0.0, 0.0, 1.0],
        up: [0.0, 1.0, 0.0],
    };
    let bottom = View::From {
        toward: [0.0, 0.0, -1.0],
        up: [0.0, 1.0, 0.0],
    };
    let far = Surface {
        positions: &SQUARE,
        values: &zeros,
        outlines: &[],
    };
    let near = Surface {
        positions: &near,
        values: &ones,
        outlines: &[],
    };
    // In either order of drawing; the two colours differ by far in green.
    for order in [[far, near], [near, far]] {
        let draw = |view| {
            let p = Picture::new(200, 200)
                .view(view)
                .surface(order[0])
                .surface(order[1]);
            pixel(&p.render().unwrap(), 70, 100)
        };
        assert!(draw(top)[1] > 150, "{:?}", draw(top));
        assert!(draw(bottom)[1] < 50);
    }
}

#[test]
fn outlines_are_drawn_where_asked() {
    let values = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
    let count_dark = |masks: [u8; 2]| {
        let s = Surface {
            positions: &SQUARE,
            values: &values,
            outlines: &masks,
        };
        let image = Picture::new(300, 300)
            .surface(s)
            .range(0.0, 1.0)
            .render()
            .unwrap();
        (60..180)
            .filter(|&x| pixel(&image, x, 150)[1] < 110)
            .count()
    };
    assert_eq!(count_dark([0, 0]), 0);
    // The diagonal only: edge 2 of the first, edge 0 of the second triangle.
    let diagonal = count_dark([4, 1]);
    assert!((1..=3).contains(&diagonal), "{diagonal}");
}

#[test]
fn the_same_bytes_each_time_and_a_readable_png() {
    let values = SQUARE.map(|p| p[0] * p[1] * 1e-6);
    let s = Surface {
        positions: &SQUARE,
        values: &values,
        outlines: &[7, 7],
    };
    let picture = Picture::new(321, 123)
        .title("Title (m/s): αβ")
        .label("|u| [m]")
        .surface(s);
    assert_eq!(picture.render().unwrap(), picture.render().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    picture.write_png(&path).unwrap();
    let file = io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (321, 123));
    assert_eq!(pixels, picture.render().unwrap().pixels);
    assert!(matches!(
        picture.write_png(dir.path().join("no/a.png")),
        Err(PictureError::Io { .. })
    ));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn odd_input_is_drawn() {
    // Nothing; one point thrice; constant values; no numbers; tiny and thin pictures; huge values.
    Picture::new(50, 50).title("empty").render().unwrap();
    let point = [[2.0; 3]; 3];
    let nan = [f64::NAN, 1.0, 2.0];
    for values in [
        [1.0; 3],
        [0.0; 3],
        nan,
        [f64::INFINITY; 3],
        [-1e308, 0.0, 1e308],
    ] {
        for (w, h) in [(1, 1), (3, 200), (200, 3), (120, 90)] {
            for positions in [
                &point,
                &[SQUARE[0], SQUARE[1], SQUARE[2]],
                &[[1e300; 3], [0.0; 3], [-1e300, 1e300, 0.0]],
            ] {
                let s = Surface {
                    positions,
                    values: &values,
                    outlines: &[7],
                };
                Picture::new(w, h)
                    .label("label")
                    .surface(s)
                    .render()
                    .unwrap();
            }
        }
    }
}

#[test]
fn faulty_input_is_refused() {
    let message = |p: Picture<'_>| p.render().unwrap_err().to_string();
    assert!(message(Picture::new(0, 5)).contains("0 × 5"));
    assert!(message(Picture::new(5, 100_000)).contains("16384"));
    let surface = |positions, values, outlines| Surface {
        positions,
        values,
        outlines,
    };
    let six = [0.0; 6];
    assert!(
        message(Picture::new(9, 9).surface(surface(&SQUARE, &six[..5], &[])))
            .contains("5 corner values")
    );
    assert!(
        message(Picture::new(9, 9).surface(surface(&SQUARE, &six, &[1]))).contains("1 outline")
    );
    let mut lost = SQUARE;
    lost[4][1] = f64::NAN;
    assert!(
        message(Picture::new(9, 9).surface(surface(&lost, &six, &[])))
            .contains("corner 1 of triangle 1")
    );
    let good = Picture::new(9, 9).surface(surface(&SQUARE, &six, &[]));
    assert!(message(good.clone().range(1.0, 1.0)).contains("must rise"));
    for (toward, up) in [
        ([0.0; 3], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
        ([f64::NAN; 3], [1.0; 3]),
    ] {
        assert!(message(good.clone().view(View::From { toward, up })).contains("parallel"));
    }
}

const TOP: View = View::From {
    toward: [0.0, 0.0, 1.0],
    up: [0.0, 1.0, 0.0],
};
const RED: [u8; 3] = [220, 30, 30];

/// From above onto the unit square, which fills 400 pixels less the margins.
fn above<'a>() -> Picture<'a> {
    Picture::new(400, 400)
        .view(TOP)
        .window([-0.5, -0.5, -9.0], [0.5, 0.5, 9.0])
}

fn plain(positions: &[[f64; 3]], radius: f64) -> Particles<'_> {
    Particles {
        positions,
        radius,
        color: Color::Plain(RED),
    }
}

/// Scale and middle of [`above`].
fn above_scale(picture: &Picture<'_>) -> (f64, [f64; 2]) {
    let [left, top, right, bottom] = picture.layout(None).plot;
    let side = (right - left).min(bottom - top);
    (side, [(left + right) / 2.0, (top + bottom) / 2.0])
}

fn reddish(p: [u8; 3]) -> bool {
    u32::from(p[0]) > 2 * u32::from(p[1]) && p[1] < 120
}

#[test]
fn spheres_have_their_size_place_and_colour() {
    for radius in [0.02, 0.1, 0.3] {
        let center = [[0.1, -0.15, 0.0]];
        let picture = above().particles(plain(&center, radius));
        let image = picture.render().unwrap();
        let (scale, middle) = above_scale(&picture);
        let (mut area, mut x_sum, mut y_sum) = (0.0, 0.0, 0.0);
        // The small axes are left of this.
        for y in 0..400 {
            for x in 80..400 {
                // White mixes with red at the rim: green tells how much.
                let green = f64::from(pixel(&image, x, y)[1]);
                let cover = ((255.0 - green) / 255.0).clamp(0.0, 1.0);
                let cover = if cover > 0.85 { 1.0 } else { cover / 0.9 };
                area += cover;
                x_sum += cover * (x as f64 + 0.5);
                y_sum += cover * (y as f64 + 0.5);
            }
        }
        let exact = std::f64::consts::PI * (radius * scale).powi(2);
        // A ninth of a pixel at worst along the rim, mostly cancelling.
        assert!(
            (area - exact).abs() < 0.05 * exact,
            "{radius}: {area} {exact}"
        );
        assert!((x_sum / area - middle[0] - 0.1 * scale).abs() < 0.3);
        assert!((y_sum / area - middle[1] - 0.15 * scale).abs() < 0.3);
    }
    // Seen from where all lies in a plane, spheres are discs of their very colour.
    let positions = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [1.0, 1.0, 0.0],
    ];
    let values = [0.0, 0.3, 0.6, 1.0];
    let picture = Picture::new(300, 300).particles(Particles {
        positions: &positions,
        radius: 0.2,
        color: Color::Values(&values),
    });
    let image = picture.render().unwrap();
    let [left, top, right, bottom] = picture.layout(Some([0.0, 1.0])).plot;
    let scale = ((right - left) / 1.4).min((bottom - top) / 1.4);
    for (p, value) in positions.iter().zip(values) {
        let x = (left + right) / 2.0 + (p[0] - 0.5) * scale;
        let y = (top + bottom) / 2.0 - (p[1] - 0.5) * scale;
        let found = pixel(&image, x as usize, y as usize);
        let expected = color::map(value).map(|c| c.round() as u8);
        assert!(
            (0..3).all(|c| found[c].abs_diff(expected[c]) <= 1),
            "{found:?} {expected:?}"
        );
    }
}

#[test]
fn no_particle_is_too_small_to_be_seen() {
    for radius in [0.0, 1e-12, 1e-5] {
        for shift in 0..50 {
            let center = [[0.001 * f64::from(shift), 0.0007 * f64::from(shift), 0.0]];
            let image = above().particles(plain(&center, radius)).render().unwrap();
            let touched = (0..400).any(|y| (80..400).any(|x| pixel(&image, x, y) != BACKGROUND));
            assert!(touched, "{radius} {center:?}");
        }
    }
}

#[test]
fn spheres_surfaces_and_bodies_hide_one_another_where_they_are_nearer() {
    // A plane cuts a sphere: from above a cap is seen, of radius √(r² - h²).
    let green = [20, 160, 60];
    let (radius, scale) = (0.4, above_scale(&above()).0);
    for height in [-0.5, -0.3, 0.0, 0.2, 0.39, 0.5] {
        let plane = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]];
        let plane = Body::plane([0.0, 0.0, height], plane, green);
        let center = [[0.0; 3]];
        let image = above()
            .body(&plane)
            .particles(plain(&center, radius))
            .render()
            .unwrap();
        let red = (0..400 * 400)
            .filter(|i| reddish(pixel(&image, i % 400, i / 400)))
            .count();
        let cap = if height < 0.0 {
            radius * radius
        } else {
            radius * radius - height * height
        };
        let exact = std::f64::consts::PI * cap.max(0.0) * scale * scale;
        assert!(
            (red as f64 - exact).abs() < 0.03 * exact + 4.0,
            "{height}: {red} {exact}"
        );
    }
    // Two spheres, in either order: the nearer one's colour in the middle.
    let (low, high) = ([[0.0, 0.0, -0.2]], [[0.05, 0.0, 0.2]]);
    let one = plain(&low, 0.3);
    let two = Particles {
        positions: &high,
        color: Color::Plain(green),
        ..one
    };
    for order in [[one, two], [two, one]] {
        let image = above()
            .particles(order[0])
            .particles(order[1])
            .render()
            .unwrap();
        assert!(!reddish(pixel(&image, 200, 200)));
    }
}

#[test]
fn plain_things_have_no_colour_bar() {
    let positions = [[0.0; 3], [0.3, 0.2, 0.1]];
    let sand = Particles {
        positions: &positions,
        radius: 0.1,
        color: Color::Plain(SAND),
    };
    let values = [1.0, 2.0];
    let coloured = Particles {
        color: Color::Values(&values),
        ..sand
    };
    let right = |p: &Particles<'_>| {
        let image = Picture::new(400, 300)
            .particles(*p)
            .label("v")
            .render()
            .unwrap();
        (310..400).any(|x| {
            (0..300).any(|y| reddish(pixel(&image, x, y)) || pixel(&image, x, y) == [38, 42, 50])
        })
    };
    assert!(!right(&sand));
    assert!(right(&coloured));
}

#[test]
fn a_window_holds_the_picture_still() {
    let floor = Body::checked_plane(
        [0.0, 0.0, -0.2],
        [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]],
        [100, 100],
        [[200, 200, 205], [230, 230, 235]],
    )
    .unwrap();
    let draw = |positions: &[[f64; 3]]| {
        let picture = above().body(&floor).particles(plain(positions, 0.05));
        (picture.render().unwrap(), picture.layout(None).plot)
    };
    let (near, plot) = draw(&[[0.2, 0.2, 0.0]]);
    let (far, _) = draw(&[[0.2, 0.2, 0.0], [30.0, 0.0, 0.0]]);
    assert_eq!(near, far);
    // Squares of a tenth, the floor everywhere inside and nowhere outside.
    let (scale, middle) = above_scale(&above());
    let at = |x: f64, y: f64| {
        pixel(
            &near,
            (middle[0] + x * scale) as usize,
            (middle[1] - y * scale) as usize,
        )
    };
    assert_eq!(at(0.05, 0.05), at(-0.05, -0.05));
    assert_ne!(at(0.05, 0.05), at(0.15, 0.05));
    assert_eq!(at(0.05, 0.05), at(0.25, 0.05));
    assert_eq!(pixel(&near, plot[0] as usize - 2, 200), BACKGROUND);
    assert_ne!(pixel(&near, plot[0] as usize + 2, 200), BACKGROUND);
}

#[test]
fn bodies_are_closed_and_cover_their_area() {
    let area = |b: &Body| -> f64 {
        let triangles = b.positions.chunks_exact(3);
        triangles
            .map(|t| {
                let e = |i: usize| [0, 1, 2].map(|d| t[i][d] - t[0][d]);
                let n = cross(e(1), e(2));
                0.5 * dot(n, n).sqrt()
            })
            .sum()
    };
    let half = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.5]];
    let cuboid = Body::cuboid([3.0, 4.0, 5.0], half, RED);
    assert_eq!(cuboid.positions.len(), 36);
    assert!((area(&cuboid) - 2.0 * (2.0 * 4.0 + 2.0 + 4.0)).abs() < 1e-12);
    // Each edge of a box is drawn by its two faces.
    let edges: u32 = cuboid.outlines.iter().map(|o| o.count_ones()).sum();
    assert_eq!(edges, 24);
    for p in &cuboid.positions {
        (0..3).for_each(|d| assert_eq!((p[d] - [3.0, 4.0, 5.0][d]).abs(), half[d][d]));
    }
    let sides = [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]];
    let exact = 4.0 * 2f64.sqrt() * 3.0;
    for squares in [[1, 1], [2, 5], [7, 1]] {
        let plane = Body::checked_plane([1.0; 3], sides, squares, [RED, SAND]).unwrap();
        assert!((area(&plane) - exact).abs() < 1e-12);
        let red = plane.colors.iter().filter(|c| **c == RED).count();
        assert_eq!(red, 2 * (squares[0] * squares[1]).div_ceil(2));
    }
    for squares in [[0, 1], [1, 1001]] {
        let made = Body::checked_plane([0.0; 3], sides, squares, [RED; 2]);
        assert!(matches!(made, Err(PictureError::Squares(..))));
    }
    let mesh = Body::triangles(&SQUARE[..3], &[[0, 1, 2], [2, 1, 0]], RED).unwrap();
    assert_eq!(area(&mesh), 1.0);
    let made = Body::triangles(&SQUARE[..3], &[[0, 1, 2], [0, 3, 1]], RED);
    assert!(
        made.unwrap_err()
            .to_string()
            .contains("triangle 1 has corner 3; there are 3")
    );
}

/// Pseudo-random numbers from 0 to 1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    }
}

#[test]
fn spheres_are_as_their_plain_twin_draws_them() {
    let mut next = random(5);
    let (width, height) = (90, 70);
    let balls: Vec<Ball> = (0..200)
        .map(|_| Ball {
            center: [120.0 * next() - 15.0, 100.0 * next() - 15.0, 30.0 * next()].map(|x| x as f32),
            radius: (8.0 * next() * next()) as f32,
            color: [(); 3].map(|_| (255.0 * next()) as u8),
        })
        .collect();
    let mut image = Image::new(width, height, BACKGROUND);
    image.scene(&Scene {
        count: 0,
        triangle: |_| Triangle {
            corners: [[0.0; 3]; 3],
            paint: Paint::Plain(RED),
            shade: 1.0,
            outline: 0,
        },
        line: Line {
            half_width: 0.0,
            strength: 0.0,
        },
        balls: &balls,
        relief: false,
        clip: [0..width, 0..height],
    });
    // Every sample asks every sphere.
    for y in 0..height {
        for x in 0..width {
            let mut sum = [0.0; 3];
            for sample in 0..9 {
                let px = x as f64 + ((sample % 3) as f64 + 0.5) / 3.0;
                let py = y as f64 + ((sample / 3) as f64 + 0.5) / 3.0;
                let mut best = f64::NEG_INFINITY;
                let mut color = BACKGROUND;
                for b in &balls {
                    let [cx, cy, cz] = b.center.map(f64::from);
                    let radius = f64::from(b.radius).max(0.25);
                    let left = radius * radius - (px - cx).powi(2) - (py - cy).powi(2);
                    if left >= 0.0 && cz + left.sqrt() > best {
                        best = cz + left.sqrt();
                        color = b.color;
                    }
                }
                (0..3).for_each(|c| sum[c] += f64::from(color[c]) / 9.0);
            }
            let found = pixel(&image, x, y);
            for c in 0..3 {
                assert!(
                    (f64::from(found[c]) - sum[c]).abs() < 1.6,
                    "{x} {y}: {found:?} {sum:?}"
                );
            }
        }
    }
}

#[test]
fn particles_have_the_same_bytes_for_any_number_of_threads() {
    let mut next = random(1);
    let positions: Vec<[f64; 3]> = (0..5000).map(|_| [next(), next(), next()]).collect();
    let values: Vec<f64> = positions.iter().map(|p| p[2]).collect();
    let body = Body::cuboid(
        [0.5; 3],
        [[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]],
        RED,
    );
    let picture = Picture::new(300, 220)
        .title("sand")
        .body(&body)
        .particles(Particles {
            positions: &positions,
            radius: 0.01,
            color: Color::Values(&values),
        });
    let draw = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| picture.render().unwrap())
    };
    let one = draw(1);
    assert!([2, 3, 8].into_iter().all(|threads| draw(threads) == one));
}

#[test]
fn odd_particles_are_drawn_and_faulty_ones_refused() {
    let lost = [[f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0]];
    let some = [[0.1, 0.1, 0.0], lost[0], lost[1]];
    let draw = |positions| above().particles(plain(positions, 0.1)).render().unwrap();
    assert_eq!(draw(&some), draw(&some[..1]));
    for positions in [&lost[..], &[], &[[1e300; 3], [-1e300; 3]], &[[1.0; 3]]] {
        for radius in [0.0, 1.0, 1e300] {
            for (w, h) in [(1, 1), (3, 200), (200, 3), (90, 70)] {
                let p = plain(positions, radius);
                Picture::new(w, h).particles(p).render().unwrap();
                let window = Picture::new(w, h).window([0.0; 3], [1.0; 3]);
                window.particles(p).view(TOP).render().unwrap();
                let window = Picture::new(w, h).window([2.0; 3], [2.0; 3]);
                window.particles(p).render().unwrap();
            }
        }
    }
    let message = |p: Picture<'_>| p.render().unwrap_err().to_string();
    let values = [1.0; 2];
    let short = Particles {
        color: Color::Values(&values),
        ..plain(&some, 1.0)
    };
    assert!(message(above().particles(short)).contains("3 particles have 2 values"));
    for radius in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(message(above().particles(plain(&some, radius))).contains("radius"));
    }
    for high in [-1.0, f64::NAN, f64::INFINITY] {
        let p = Picture::new(9, 9).window([0.0; 3], [1.0, high, 1.0]);
        assert!(message(p).contains("window"));
    }
    let body = Body::plane(lost[0], [[1.0; 3]; 2], RED);
    assert!(message(above().body(&body)).contains("must be finite"));
}
