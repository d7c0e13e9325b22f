//! Plots compared with what must be in them.

use super::*;

fn pixel(image: &Image, x: f64, y: f64) -> [u8; 3] {
    let at = 3 * (y as usize * image.width + x as usize);
    image.pixels[at..at + 3].try_into().unwrap()
}

fn is(found: [u8; 3], color: [f64; 3]) -> bool {
    (0..3).all(|c| (f64::from(found[c]) - color[c]).abs() < 40.0)
}

/// The frame of the axes, by the renderer's own account.
fn frame(plot: &Plot<'_>) -> Box2 {
    let mut image = Image::new(plot.width, plot.height, BACKGROUND);
    let axes = [0, 1].map(|d| {
        let points = plot.series.iter().flat_map(|s| s.points);
        Axis::new(plot.log[d], plot.ranges[d], points.map(|p| p[d]))
    });
    let unit = plot.width.min(plot.height) as f64 / 600.0;
    let sizes = Sizes {
        unit,
        text: 11.0 * unit,
        mark: 5.0 * unit,
        pen: 2.0 * unit,
    };
    plot.draw_axes(&mut image, &axes, &sizes)
}

#[test]
fn curves_pass_through_their_points() {
    let line = [[1.0, 1.0], [10.0, 100.0], [100.0, 1e4]];
    for (log, middle) in [
        ([true, true], [0.5, 0.5]),
        ([false, false], [9.0 / 99.0, 99.0 / 9999.0]),
    ] {
        let plot = Plot::new(800, 600)
            .log(log)
            .x_range(1.0, 100.0)
            .y_range(1.0, 1e4)
            .series("", Marks::Line, &line);
        let image = plot.render().unwrap();
        let [left, top, right, bottom] = frame(&plot);
        let at = |x: f64, y: f64| [left + x * (right - left), bottom - y * (bottom - top)];
        let [x, y] = at(middle[0], middle[1]);
        assert!(is(pixel(&image, x, y), COLORS[0]), "{log:?}");
        // A power is straight with logarithms, and below its chord without.
        let [x, y] = at(0.75, 0.75);
        let on_chord = is(pixel(&image, x, y), COLORS[0]);
        assert_eq!(on_chord, log[0]);
    }
}

#[test]
fn lines_break_where_there_is_nothing_and_stay_inside() {
    let points = [
        [0.0, 0.5],
        [0.2, 0.5],
        [0.4, f64::NAN],
        [0.6, 0.5],
        [0.8, 0.5],
        [0.8, 1e9],
        [1e9, -1e9],
    ];
    let plot = Plot::new(600, 400)
        .x_range(0.0, 1.0)
        .y_range(0.0, 1.0)
        .series("", Marks::Both, &points);
    let image = plot.render().unwrap();
    let [left, top, right, bottom] = frame(&plot);
    let at = |x: f64| pixel(&image, left + x * (right - left), (top + bottom) / 2.0);
    assert!(is(at(0.1), COLORS[0]) && is(at(0.7), COLORS[0]));
    assert!(!is(at(0.3), COLORS[0]) && !is(at(0.5), COLORS[0]));
    let blue = |x: usize, y: usize| is(pixel(&image, x as f64, y as f64), COLORS[0]);
    // Neither above nor beside the axes, but for the width of a pen.
    for y in 0..image.height {
        for x in 0..image.width {
            let beyond = (y as f64) < top - 3.0 || (x as f64) > right + 3.0;
            assert!(!(beyond && blue(x, y)), "{x} {y}");
        }
    }
}

#[test]
fn the_legend_keeps_clear_of_the_curves() {
    // Rising and falling lines leave other corners free.
    let rising = [[0.0, 0.0], [1.0, 1.0]];
    let falling = [[0.0, 1.0], [1.0, 0.0]];
    for points in [rising, falling] {
        let draw = |name: &str| {
            let plot = Plot::new(600, 600).series(name, Marks::Line, &points);
            plot.render().unwrap()
        };
        let (with, without) = (draw("a name"), draw(""));
        let changed = |i: &usize| with.pixels[3 * i..3 * i + 3] != without.pixels[3 * i..3 * i + 3];
        let hidden = (0..600 * 600).filter(changed).filter(|i| {
            let p = &without.pixels[3 * i..3 * i + 3];
            is([p[0], p[1], p[2]], COLORS[0])
        });
        assert_eq!(hidden.count(), 0);
        assert!((0..600 * 600).filter(changed).count() > 100);
    }
}

#[test]
fn segments_are_clipped_exactly() {
    let frame = [0.0, 0.0, 2.0, 1.0];
    assert_eq!(
        clip([[-1.0, 0.5], [3.0, 0.5]], &frame),
        Some([[0.0, 0.5], [2.0, 0.5]])
    );
    assert_eq!(
        clip([[1.0, 3.0], [1.0, -1.0]], &frame),
        Some([[1.0, 1.0], [1.0, 0.0]])
    );
    assert_eq!(
        clip([[0.5, 0.5], [0.5, 0.5]], &frame),
        Some([[0.5, 0.5]; 2])
    );
    assert_eq!(clip([[-1.0, 1.0], [1.0, 3.0]], &frame), None);
    assert_eq!(clip([[3.0, 0.5]; 2], &frame), None);
    assert_eq!(
        clip([[0.25, 0.5], [1.0, 0.25]], &frame),
        Some([[0.25, 0.5], [1.0, 0.25]])
    );
}

#[test]
fn dashes_go_on_over_the_joints() {
    let all = |parts: usize| {
        let x = |i: usize| [30.0 * i as f64 / parts as f64, 0.0];
        let lines = (0..parts).map(|i| [x(i), x(i + 1)]);
        let length: f64 = dashes(lines, 4.0).iter().map(|[a, b]| b[0] - a[0]).sum();
        length
    };
    // Five periods of 6, two thirds of each.
    for parts in [1, 2, 7, 1000] {
        assert!((all(parts) - 20.0).abs() < 1e-9);
    }
    assert!(dashes([[[1.0; 2]; 2]].into_iter(), 4.0).is_empty());
}

#[test]
fn odd_plots_are_drawn_the_same_each_time() {
    let sets: [&[[f64; 2]]; 6] = [
        &[],
        &[[1.0, 1.0]],
        &[[0.0, 0.0], [-1.0, -1.0]],
        &[[f64::NAN, 1.0], [1.0, f64::INFINITY]],
        &[[f64::MAX, -f64::MAX], [-f64::MAX, f64::MAX]],
        &[[1e-310, 1e-300], [1e300, 1e308]],
    ];
    for points in sets {
        for log in [[false, false], [true, false], [false, true], [true, true]] {
            for (w, h) in [(1, 1), (3, 300), (300, 3), (240, 180)] {
                let mut plot = Plot::new(w, h)
                    .title("t")
                    .x_label("x")
                    .y_label("y")
                    .log(log);
                for marks in [Marks::Line, Marks::Dashes, Marks::Points, Marks::Both] {
                    plot = plot.series("name", marks, points);
                }
                assert_eq!(plot.render().unwrap(), plot.render().unwrap());
            }
        }
    }
}

#[test]
fn faulty_plots_are_refused() {
    let message = |plot: Plot<'_>| plot.render().unwrap_err().to_string();
    assert!(message(Plot::new(0, 5)).contains("0 × 5"));
    for (low, high) in [
        (1.0, 1.0),
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (-f64::MAX, f64::MAX),
    ] {
        assert!(message(Plot::new(9, 9).x_range(low, high)).contains("must rise"));
        assert!(message(Plot::new(9, 9).y_range(low, high)).contains("must rise"));
    }
    let log = Plot::new(9, 9).log([true, false]);
    assert!(message(log.clone().x_range(0.0, 1.0)).contains("positive"));
    log.y_range(-1.0, 1.0).render().unwrap();
    let lost = Plot::new(9, 9).write_png("no/such/folder/a.png");
    assert!(matches!(lost, Err(PictureError::Io { .. })));
}
