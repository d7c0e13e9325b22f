//! Pictures compared with what must be in them.

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
