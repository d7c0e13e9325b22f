//! `docs/coming-from-warp.md`: each line of code in the third column of its tables is here, in a test that
//! runs it. The first test compares the page with this file, so a row cannot go out of date.

use std::error::Error;
use std::sync::Arc;
use weft::adapt::Transfer;
use weft::assemble::{
    self, CouplingPlan, Deformation, InterpolationMatrix, InterpolationPlan, MatrixPlan, NodalPlan,
    PointPlan, Reduction, ScalarPlan, VectorPlan,
};
use weft::element::{
    CellKind, Element, Kernel, Lagrange, NodeFamily, Quadrature, RuleFamily, VectorElement,
    VectorFamily,
};
use weft::field::{CrossField, Field};
use weft::form::{
    Expr, Measure, Param, ParticleData, PointData, Scope, Shape, Unary, point_function,
};
use weft::geometry::{
    self, AdaptiveVoxelGrid, Geometry, Grading, Grid2, Grid3, Locator, Lookup, MapClass, Mark,
    Mesh, Search, Surface, VoxelCapacity, VoxelGrid, VoxelMap, frame_at, shapes,
};
use weft::memory::Pool;
use weft::particle::{Cloud, Half, ParticleQuadrature, Sample};
use weft::partition::{
    Batch, BatchLocator, Capacity, EnvironmentOrder, Environments, Exchange, GeometryPartition,
    NodeClass, SpacePartition, SpaceRestriction,
};
use weft::problem::{
    self, Dirichlet, LinearProblem, MixedProblem, NewtonOptions, NonlinearProblem, Solver,
};
use weft::solve::{
    self, BlockDiagonal, BlockJacobi, BlockSystem, Constraints, Identity, Jacobi, Krylov,
    KrylovOptions, LinearOperator, Method, SymmetricEigen,
};
use weft::space::{Space, ValueKind};
use weft::sparse::{BlockMatrix, Pattern};

type Done = Result<(), Box<dyn Error>>;

/// Text without white space, and without the commas that formatting puts at the ends of lists.
fn squeezed(text: &str) -> String {
    let all: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    all.replace(",)", ")").replace(",]", "]").replace(",}", "}")
}

/// Columns of a row of a table; `\|` is a bar.
fn columns(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    let row = row.replace("\\|", "\u{0}");
    let columns = row.split('|').map(|c| c.trim().replace('\u{0}', "|"));
    columns.collect()
}

/// What stands between backquotes.
fn code(column: &str) -> Vec<String> {
    let parts = column.split('`').skip(1).step_by(2);
    parts.map(str::to_string).collect()
}

#[test]
fn every_line_of_the_page_is_run_here() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/coming-from-warp.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let own: String = include_str!("coming_from_warp.rs")
        .lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .collect();
    let own = squeezed(&own);
    let (mut rows, mut lines, mut texts) = (0, 0, 0);
    let mut section = "";
    for row in page.lines() {
        section = row.strip_prefix("## ").unwrap_or(section);
        if !row.starts_with('|') {
            continue;
        }
        let columns = columns(row);
        assert_eq!(columns.len(), 3, "{row}");
        let (here, third) = (&columns[1], &columns[2]);
        let head = third == "in code" || third.chars().all(|c| c == '-');
        if head {
            continue;
        }
        rows += 1;
        // Texts of forms are in the middle column.
        if section == "Integrands and operators" {
            for text in code(here) {
                assert!(own.contains(&squeezed(&text)), "not read: {text}");
                texts += 1;
            }
        }
        let snippets = code(third);
        if snippets.is_empty() {
            // Only where there is nothing to run.
            let said = ["Not there", "Not needed", "Crate `"];
            assert!(said.iter().any(|s| here.starts_with(s)), "{row}");
            assert_eq!(third, "", "{row}");
        }
        for snippet in snippets {
            assert!(own.contains(&squeezed(&snippet)), "not run: {snippet}");
            lines += 1;
        }
    }
    assert!(
        rows > 250 && lines > 250 && texts > 40,
        "{rows} rows, {lines} lines, {texts} texts"
    );
}

fn share<G: Geometry + Clone + 'static>(geometry: &G) -> Arc<dyn Geometry> {
    Arc::new(geometry.clone())
}

#[test]
fn grids_and_meshes() -> Done {
    let grid = Grid2::new([4, 3], [0.0; 2], [2.0, 1.0])?;
    let cube = Grid3::unit([4, 3, 2])?;
    assert_eq!(
        (grid.cell_count(), cube.edge_count()),
        (12, 4 * 4 * 3 + 5 * 3 * 3 + 5 * 4 * 2)
    );
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
    let mesh = Mesh::new(
        CellKind::Triangle,
        2,
        points.clone(),
        vec![0, 1, 2, 1, 3, 2],
    )?;
    let quads = Mesh::new(CellKind::Quad, 3, points.clone(), vec![0, 1, 3, 2])?;
    assert_eq!((mesh.space_dim(), quads.space_dim()), (2, 3));
    let tets = shapes::box_tets([2, 2, 2], [0.0; 3], [1.0; 3])?;
    let hexes = shapes::box_hexes([2, 2, 2], [0.0; 3], [1.0; 3])?;
    let points = tets.map().nodes.clone();
    let tets = Mesh::new(CellKind::Tet, 3, points, tets.topology().cells().to_vec())?;
    let points = hexes.map().nodes.clone();
    let hexes = Mesh::new(CellKind::Hex, 3, points, hexes.topology().cells().to_vec())?;
    assert_eq!(
        tets.topology().cell_count(),
        6 * hexes.topology().cell_count()
    );
    assert!(hexes.map_class() != MapClass::General);
    assert_eq!(shapes::segments(8, 0.0, 1.0)?.topology().cell_count(), 8);
    assert_eq!(mesh.elevated(3)?.map().degree, 3);
    for made in [
        shapes::rectangle_triangles([4, 3], [0.0; 2], [2.0, 1.0])?,
        shapes::rectangle_quads([4, 3], [0.0; 2], [2.0, 1.0])?,
        shapes::box_tets5([2, 2, 2], [0.0; 3], [1.0; 3])?,
        shapes::box_hexes([2, 2, 2], [0.0; 3], [1.0; 3])?,
    ] {
        assert!(made.topology().cell_count() > 0);
    }
    let positions = mesh
        .map()
        .nodes
        .iter()
        .map(|x| x.map(|c| 2.0 * c))
        .collect();
    let mut locator = Locator::new(&mesh);
    mesh.move_vertices(positions)?;
    locator.refit(&mesh)?;
    assert!(locator.find([1.9, 1.9, 0.0], 0.0).is_some());
    let points = mesh.map().nodes.clone();
    mesh.rebuild(points, vec![0, 1, 3, 0, 3, 2])?;
    locator.rebuild(&mesh);
    let turn = Expr::vector(&[0.5, 0.0]);
    let field = Field::zeros(&Space::lagrange(&grid, 2)?.vector(2)?);
    let bent = Deformation::by(&grid, &field.expr(), 2)?;
    let placed = Deformation::to(&grid, &(Expr::position(&grid) + turn), 1)?;
    assert_eq!(bent.geometry().base().id(), grid.id());
    let area = assemble::integrate(&Expr::constant(1.0).dx(placed.geometry()))?;
    assert!((area - 2.0).abs() < 1e-14);
    let mut bent = bent;
    field.values_mut().fill(0.25);
    bent.update()?;
    Ok(())
}

#[test]
fn voxel_grids() -> Done {
    let map = VoxelMap::uniform(0.5)?;
    let voxels = [[0, 0, 0], [1, 0, 0], [-7, 3, 2]];
    let grid = VoxelGrid::from_coordinates(&voxels, map)?;
    assert_eq!(grid.cell_count(), 3);
    let points = [[0.1, 0.2, 0.3], [-3.0, 1.0, 1.0]];
    let (grid, _) = VoxelGrid::from_points(&points, None, map)?;
    grid.set_capacity(Some(VoxelCapacity {
        cells: 100,
        leaves: 10,
    }));
    grid.rebuild(&points, Some(&[true, false]))?;
    assert!(grid.status().is_ok());
    let sheared = VoxelMap::affine(
        [[0.5, 0.1, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]],
        [1.0; 3],
    )?;
    assert_eq!(
        VoxelGrid::from_coordinates(&voxels, sheared)?.cell_count(),
        3
    );
    let both = VoxelGrid::from_environments(&voxels, &[0, 0, 1], 2, 3, map)?;
    assert_eq!(
        (
            both.cells().environment_count(),
            both.cells().environment_of(2)
        ),
        (2, 1)
    );
    let lookup = Lookup {
        environment: Some(0),
        ..Lookup::default()
    };
    assert!(both.locate([0.1, 0.1, 0.1], &lookup)?.is_some());
    let grid = AdaptiveVoxelGrid::from_cells(&[([0; 3], 1), ([2, 0, 0], 0)], map)?;
    let levels = [vec![[2, 0, 0]], vec![[0, 0, 0]]];
    assert_eq!(
        AdaptiveVoxelGrid::from_hierarchy(&levels, map)?.cell_count(),
        2
    );
    let distance = |x: [f64; 3]| x[0].abs();
    let fine = AdaptiveVoxelGrid::from_field(&[[0; 3]], map, 3, distance, 64, Grading::Face)?;
    assert!(fine.cell_count() > 8);
    let graded = grid.graded(Grading::Vertex)?;
    let marks = vec![Mark::Refine; graded.cell_count()];
    let finer = graded.adapted(&marks)?;
    let space = Space::lagrange(&graded, 1)?;
    let field = assemble::interpolate(&Expr::position(&graded).at(0), &space)?;
    let moved =
        Transfer::new(&graded, &finer)?.interpolate(&field, &Space::lagrange(&finer, 1)?)?;
    assert!(moved.values().len() > field.values().len());
    Ok(())
}

#[test]
fn parts_and_environments() -> Done {
    let grid = Grid2::unit([4, 4])?;
    let mesh = shapes::rectangle_quads([2, 2], [0.0; 2], [1.0; 2])?;
    assert_eq!(GeometryPartition::whole(share(&grid))?.cell_count(), 16);
    assert_eq!(
        GeometryPartition::linear(share(&grid), 0, 3)?.cell_count(),
        6
    );
    let mut mask = vec![false; 16];
    mask[5] = true;
    let mut part = GeometryPartition::by_mask(share(&grid), &mask)?.bounded(Capacity {
        cells: 8,
        sides: 40,
    })?;
    mask[6] = true;
    part.rebuild(&mask)?;
    assert_eq!((part.contains(6), part.local_cell(6)), (true, Some(1)));
    let space = Space::lagrange(&grid, 1)?;
    let nodes = SpacePartition::new(&space, &part)?;
    let tight = SpacePartition::bounded(&space, &part, 16)?;
    assert_eq!(
        (
            nodes.local_node(nodes.nodes()[2] as usize),
            tight.owned_count()
        ),
        (Some(2), nodes.owned_count())
    );
    let inside = nodes.class(NodeClass::OwnedInterior);
    assert!(inside.len() <= nodes.owned_nodes().len());
    let exchange = Exchange::new(&nodes, &part)?;
    assert!(exchange.neighbours().len() < 3);
    let whole = SpacePartition::whole(&space)?;
    let lists = SpaceRestriction::on_cells(&whole, part.cells())?;
    assert_eq!(lists.entry_count(), 8);
    let halves = geometry_parts(&grid)?;
    assert_eq!(halves.len(), 16);
    let batch = Batch::new(share(&mesh), 3)?;
    let environments = batch.environments();
    assert_eq!(environments.of_cell(5), 1);
    let at = BatchLocator::new(&batch).find(2, [0.1, 0.1, 0.0], 0.0)?;
    assert_eq!(at.map(|a| a.cell), Some(8));
    let space = Space::lagrange(&batch, 1)?;
    let order = EnvironmentOrder::new(&SpacePartition::whole(&space)?, &environments)?;
    assert_eq!(order.node_offsets(), [0, 9, 18, 27]);
    let sums = assemble::integrate(&Expr::environment_index(&environments).dx(&batch))?;
    assert!((sums - 3.0).abs() < 1e-14);
    let labels = vec![0; 4];
    assert_eq!(Environments::by_cell(&mesh, labels, 2)?.count(), 2);
    Ok(())
}

fn geometry_parts(grid: &Grid2) -> Result<Vec<u32>, Box<dyn Error>> {
    Ok(weft::partition::graph_parts(grid, 2)?)
}

#[test]
fn numbers_of_a_geometry() -> Done {
    let mesh = shapes::rectangle_quads([3, 3], [0.0; 2], [1.0; 2])?;
    let topology = mesh.topology();
    assert_eq!(topology.cell_count(), 9);
    assert_eq!(topology.vertex_count(), 16);
    assert_eq!(topology.side_count(), 24);
    assert_eq!(topology.boundary_sides().len(), 12);
    assert_eq!(topology.edge_count(), 24);
    assert_eq!(mesh.cell_kind().side_kind(), CellKind::Segment);
    assert_eq!((mesh.cell_kind().dim(), mesh.space_dim()), (2, 2));
    let frame = frame_at(&mesh, 4, [0.5, 0.5, 0.0]);
    assert!((frame.position[0] - 0.5).abs() < 1e-15);
    assert!((frame.jacobian[0][0] * frame.inverse[0][0] - 1.0).abs() < 1e-14);
    assert!((frame.measure - 1.0 / 9.0).abs() < 1e-15);
    let side = topology.interior_sides()[0] as usize;
    let [inner, outer] = topology.side_cells(side);
    assert_ne!(inner, outer);
    let at = mesh.side_maps(&topology, side)[0].apply([0.25, 0.0, 0.0]);
    assert_eq!(mesh.side_maps(&topology, side)[0].coordinates(at)[0], 0.25);
    let left = geometry::cell_coordinates(&mesh, 4, [0.1, 0.5, 0.0]).unwrap();
    assert!((left[0] + 0.7).abs() < 1e-14);
    let [low, high] = geometry::cell_bounds(&mesh, 4).unwrap();
    assert!(low[0] < 0.334 && high[0] > 0.666);
    assert_eq!(
        topology.side_cells(topology.boundary_sides()[2] as usize)[0],
        topology.side_cells(topology.boundary_sides()[2] as usize)[1]
    );
    assert_eq!(topology.vertex_cells(5).len(), 4);
    let (kind, corners) = (CellKind::Segment, [[0.0; 3], [1.0, 0.0, 0.0]]);
    let nearest = geometry::closest_point(kind, 1, 2, &corners, [0.5, 2.0, 0.0]).unwrap();
    assert_eq!((nearest.distance, nearest.xi[0]), (2.0, 0.5));
    Ok(())
}

#[test]
fn point_location() -> Done {
    let mesh = shapes::rectangle_triangles([4, 4], [0.0; 2], [1.0; 2])?;
    let x = [0.3, 0.4, 0.0];
    let locator = Locator::new(&mesh);
    let found = locator.find(x, 1e-9).unwrap();
    assert!(locator.closest([3.0, 0.0, 0.0], f64::INFINITY).is_some());
    assert!(locator.closest([3.0, 0.0, 0.0], 1.0).is_none());
    let near = locator
        .closest_with(x, &Search::within(0.1).near(found.cell))
        .unwrap();
    let among = locator
        .closest_with(x, &Search::within(1.0).among(&|cell| cell < 4))
        .unwrap();
    assert!(near.cell == found.cell && among.cell < 4);
    let part = GeometryPartition::linear(share(&mesh), 0, 2)?;
    assert!(
        locator
            .find_among(x, 1e-9, &|cell| part.contains(cell))
            .is_some()
    );
    assert_eq!(
        geometry::locate(&mesh, x, 1e-9).map(|(cell, _)| cell),
        Some(found.cell)
    );
    let (points, mut out) = (vec![x; 3], vec![None; 3]);
    locator.find_many(&points, 1e-9, &mut out);
    assert_eq!(out[2], Some(found));
    let ball = Surface::new(&shapes::sphere(2)?)?;
    assert!(ball.signed_distance([0.0; 3], 2.0).unwrap().distance < 0.0);
    Ok(())
}

#[test]
fn quadrature() -> Done {
    let grid = Grid2::unit([2, 2])?;
    let x = Expr::position(&grid);
    let f = x.at(0) * x.at(0);
    let exact = assemble::integrate(&f.over(&Measure::cells(&grid).degree(4)))?;
    let lobatto = Measure::cells(&grid)
        .degree(3)
        .family(RuleFamily::GaussLobatto);
    assert!((assemble::integrate(&f.over(&lobatto))? - exact).abs() < 1e-15);
    assert!((assemble::integrate(&f.dx(&grid))? - exact).abs() < 1e-15);
    let rule = Quadrature::with_family(CellKind::Quad, 3, RuleFamily::NewtonCotesClosed)?;
    assert!(rule.len() >= Quadrature::new(CellKind::Quad, 3)?.len());
    let space = Space::lagrange(&grid, 2)?;
    assert_eq!(space.element().node_weights()?.len(), 9);
    let sample = Sample {
        particle: 0,
        cell: 1,
        xi: [0.5, 0.5, 0.0],
        share: 1.0,
    };
    let points = ParticleQuadrature::new(&grid);
    points.rebuild_from_samples(&[sample], &[0.25])?;
    let sand = ParticleQuadrature::within(&grid, 0.1);
    let (positions, volumes) = ([[0.1, 0.2, 0.0], [0.6, 0.7, 0.0]], [0.1, 0.2]);
    let report = sand.rebuild(&Cloud::new(&positions, &volumes))?;
    assert_eq!(report.inside, 2);
    let measure = Measure::cells(&grid).on_particles(&sand);
    let sum = assemble::integrate(&x.at(0).over(&measure))?;
    assert!((sum - (0.01 + 0.12)).abs() < 1e-15);
    let mut scope = Scope::new(share(&grid));
    scope.set_particles("sand", &sand);
    assert!((assemble::integrate(&scope.form("x[0]*dx(particles = sand)")?)? - sum).abs() < 1e-16);
    let wide = Cloud {
        half_widths: Some(Half::Same(0.05)),
        ..Cloud::new(&positions, &volumes)
    };
    sand.rebuild(&wide)?;
    let samples = sand.samples();
    assert!(samples.occupied_cells().count() >= 2 && samples.in_cell(0).len() == 1);
    assert_eq!((samples.particle_count(), samples.len() >= 2), (2, true));
    let listed = Measure::cells(&grid).listed(vec![0]).on_particles(&sand);
    assert!((assemble::integrate(&Expr::constant(1.0).over(&listed))? - 0.1).abs() < 1e-15);
    let mut slope = PointPlan::position_gradient(&f, &sand)?;
    let mut out = vec![0.0; slope.len()];
    slope.evaluate(&mut out)?;
    assert!((out[0] - 0.1 * 0.2).abs() < 1e-15);
    Ok(())
}

#[test]
fn spaces() -> Done {
    let grid = Grid2::unit([2, 2])?;
    let mesh = shapes::rectangle_triangles([2, 2], [0.0; 2], [1.0; 2])?;
    let space = Space::lagrange(&grid, 2)?;
    let vectors = space.vector(2)?;
    let matrices = space.with_value(ValueKind::Matrix(2, 2))?;
    let symmetric = space.symmetric(2)?;
    assert_eq!(
        (
            vectors.components(),
            matrices.components(),
            symmetric.components()
        ),
        (2, 4, 3)
    );
    let quaternions = space.vector(4)?;
    let deviatoric = space.with_value(ValueKind::Deviatoric(2))?;
    let skew = space.skew(2)?;
    assert_eq!(
        (
            quaternions.components(),
            deviatoric.components(),
            skew.components()
        ),
        (4, 3, 1)
    );
    assert_eq!(skew.shape(), deviatoric.shape());
    assert_eq!(matrices.shape(), space.matrix(2, 2)?.shape());
    assert_eq!(Space::discontinuous(&grid, 0)?.node_count(), 4);
    assert_eq!(Space::discontinuous(&mesh, 2)?.nodes_per_cell(), 6);
    assert_eq!(Space::serendipity(&grid, 2)?.nodes_per_cell(), 8);
    assert_eq!(Space::polynomials(&grid, 1)?.nodes_per_cell(), 3);
    assert_eq!(Space::splines(&grid, 3)?.degree(), 3);
    assert_eq!(Space::nedelec(&mesh, 1)?.shape(), Shape::Vector(2));
    assert_eq!(Space::raviart_thomas(&mesh, 2)?.shape(), Shape::Vector(2));
    assert_eq!(Space::bdm(&mesh, 1)?.degree(), 1);
    assert_eq!(Space::nedelec_second(&mesh, 1)?.degree(), 1);
    assert_eq!(Space::crouzeix_raviart(&mesh)?.nodes_per_cell(), 3);
    assert_eq!(Space::bubble(&mesh)?.nodes_per_cell(), 4);
    let even = Space::on(share(&grid), 3, NodeFamily::Equispaced, true)?;
    assert_eq!(even.nodes_per_cell(), 16);
    let element = Element::new_serendipity(CellKind::Quad, 3)?;
    assert_eq!(
        Space::with_element(share(&grid), element, true)?.degree(),
        3
    );
    let family = VectorFamily::RaviartThomas;
    assert_eq!(Space::of_vectors(share(&mesh), family, 1)?.components(), 1);
    assert_eq!(
        VectorElement::new(family, CellKind::Tet, 1)?.function_count(),
        4
    );
    assert_eq!(Space::points(&grid, 3)?.nodes_per_cell(), 4);
    let rule = Quadrature::new(CellKind::Quad, 1)?;
    let radial = Element::new_points(&rule, &Kernel::gaussian(0.5)?)?;
    assert!((radial.tabulate(&[[0.5, 0.0, 0.0]]).values[0] - (-1.0f64).exp()).abs() < 1e-15);
    let sand = ParticleQuadrature::new(&grid);
    sand.rebuild(&Cloud::new(&[[0.1, 0.2, 0.0]], &[0.5]))?;
    assert_eq!(Space::particles(&sand)?.cell_nodes(0), [0]);
    let (mut values, mut slopes) = ([0.0; 9], [[0.0; 3]; 9]);
    let lagrange = Lagrange::new(CellKind::Quad, 2, NodeFamily::Lobatto)?;
    lagrange.evaluate([0.5, 0.5, 0.0], &mut values, &mut slopes);
    assert_eq!(values[4], 1.0);
    assert_eq!(
        (space.degree(), space.node_count(), vectors.dof_count()),
        (2, 25, 50)
    );
    assert_eq!(space.node_positions()[24], [1.0, 1.0, 0.0]);
    assert_eq!(space.cell_nodes(3).len(), space.nodes_per_cell());
    assert!(space.side_nodes(0).count() == 3 && space.topology().cell_count() == 4);
    let tau = Expr::test(&symmetric);
    assert_eq!(tau.shape(), Shape::Matrix(2, 2));
    assert_eq!(tau.grad().shape(), Shape::Matrix(4, 2));
    assert!(
        mesh.rebuild(mesh.map().nodes.clone(), mesh.topology().cells().to_vec())
            .is_ok()
    );
    assert!(Space::lagrange(&mesh, 1)?.check_current().is_ok());
    Ok(())
}

#[test]
fn fields() -> Done {
    let grid = Grid2::unit([2, 2])?;
    let space = Space::lagrange(&grid, 1)?;
    let field = Field::zeros(&space);
    field.values_mut().fill(2.0);
    assert_eq!(field.values()[3], 2.0);
    assert_eq!(Field::from_values(&space, vec![1.0; 9])?.values()[0], 1.0);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    assert!((&u * &v).check().is_ok());
    let force = Param::scalar("force", 9.81);
    force.set(1.62);
    let f = Expr::from(&force) * Expr::position(&grid).at(0).unary(Unary::Sin);
    assert_eq!(f.grad().shape(), Shape::Vector(2));
    let rock = Expr::cell_data("rock", vec![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(assemble::integrate(&rock.dx(&grid))?, 2.5);
    let tilt = Expr::side_data("tilt", vec![1.0; 12]);
    assert_eq!(
        assemble::integrate(&tilt.over(&Measure::boundary(&grid)))?,
        4.0
    );
    let heat = PointData::scalar("heat", &[1.0; 16]);
    let warm = Expr::from(&heat).over(&Measure::cells(&grid).degree(3));
    assert!((assemble::integrate(&warm)? - 1.0).abs() < 1e-15);
    let mass = ParticleData::scalar("mass", &[1.0, 2.0]);
    mass.set(&[3.0, 4.0])?;
    let cube = point_function(
        "cube",
        &[Shape::Scalar],
        Shape::Scalar,
        |x, y| y[0] = x[0].powi(3),
        None,
    );
    let cube = Expr::native(cube.unwrap(), vec![field.expr()]);
    assert!((assemble::integrate(&cube.dx(&grid))? - 8.0).abs() < 1e-14);
    let at = field.evaluate(3, [0.5, 0.5, 0.0])?;
    assert_eq!((at.value[0], at.gradient[0][0]), (2.0, 0.0));
    let trace = (field.expr() * &v).over(&Measure::boundary(&grid));
    assert_eq!(assemble::vector(&trace)?.len(), 9);
    assert_eq!(field.space().degree(), 1);
    // A field looked up at another place, inside an integrand.
    let (tree, old) = (Locator::new(&grid), field.clone());
    let look = move |x: &[f64], out: &mut [f64]| {
        let at = tree.closest([x[0], x[1], 0.0], f64::INFINITY);
        let value = at.and_then(|at| old.evaluate(at.cell, at.xi).ok());
        out[0] = value.map_or(f64::NAN, |v| v.value[0]);
    };
    let looked_up = point_function("old", &[Shape::Vector(2)], Shape::Scalar, look, None);
    let shift = Expr::vector(&[0.1, 0.0]);
    let upstream = Expr::native(looked_up.unwrap(), vec![Expr::position(&grid) - shift]);
    assert!((assemble::integrate(&upstream.dx(&grid))? - 2.0).abs() < 1e-14);
    let locator = Locator::new(&grid);
    let value = match locator.find([0.3, 7.0, 0.0], 1e-6) {
        Some(at) => field.evaluate(at.cell, at.xi)?.value[0],
        None => 5.0,
    };
    assert_eq!(value, 5.0);
    let square = Grid2::new([1, 1], [0.5, 0.5], [1.5, 1.5])?;
    let across = CrossField::new(&field)?.or(5.0);
    let corners = assemble::interpolate(&across, &Space::lagrange(&square, 1)?)?;
    assert_eq!(*corners.values(), [2.0, 5.0, 5.0, 5.0]);
    let far = Expr::test(&Space::lagrange(&square, 1)?);
    let coupling = CouplingPlan::new(&(&u * &far).dx(&square), &locator)?;
    assert!(coupling.outside() > 0);
    let mut plan = InterpolationPlan::new(&f, &space, &Measure::boundary(&grid), Reduction::Mean)?;
    plan.interpolate(&field)?;
    assert_eq!((field.values()[0], field.values()[4]), (0.0, 2.0));
    Ok(())
}

/// Reads each text, which has to be the same number as the expression.
fn same(scope: &Scope, text: &str, e: Expr, measure: &Measure) -> Done {
    let wanted = assemble::integrate(&e.over(measure))?;
    let value = assemble::integrate(&scope.expression(text)?.over(measure))?;
    assert!((value - wanted).abs() < 1e-13, "{text}: {value} {wanted}");
    Ok(())
}

#[test]
fn operators_of_places() -> Done {
    let grid = Grid2::unit([2, 3])?;
    let scope = Scope::new(share(&grid));
    let (cells, edge) = (Measure::cells(&grid), Measure::boundary(&grid));
    let inner = Measure::interior(&grid);
    same(&scope, "x[0]", Expr::position(&grid).at(0), &cells)?;
    let x = assemble::interpolate(&Expr::position(&grid).at(0), &Space::lagrange(&grid, 1)?)?;
    let wind = CrossField::new(&x)?;
    let half = wind.at(&(Expr::position(&grid) * 0.5), 0.0);
    assert!((assemble::integrate(&half.dx(&grid))? - 0.25).abs() < 1e-14);
    same(&scope, "n[0]", Expr::normal(&grid).at(0), &inner)?;
    same(&scope, "h", Expr::cell_size(), &cells)?;
    same(
        &scope,
        "jacobian[0, 0]",
        Expr::jacobian(&grid).at2(0, 0),
        &cells,
    )?;
    same(
        &scope,
        "inverse_jacobian[0, 0]",
        Expr::inverse_jacobian(&grid).at2(0, 0),
        &cells,
    )?;
    same(
        &scope,
        "side_jacobian[0, 0]",
        Expr::side_jacobian(&grid).at2(0, 0),
        &edge,
    )?;
    same(&scope, "measure", Expr::measure(&grid), &edge)?;
    same(&scope, "cell_measure", Expr::cell_measure(&grid), &edge)?;
    same(&scope, "measure_ratio", Expr::measure_ratio(&grid), &inner)?;
    same(
        &scope,
        "xi[1]",
        Expr::reference_position(&grid).at(1),
        &cells,
    )?;
    same(&scope, "element_index", Expr::element_index(&grid), &inner)?;
    same(
        &scope,
        "outside(cell_index)",
        Expr::cell_index(&grid).outside(),
        &inner,
    )?;
    same(
        &scope,
        "quadrature_weight",
        Expr::quadrature_weight(&grid),
        &cells,
    )?;
    let surface = shapes::sphere(1)?;
    let scope = Scope::new(share(&surface));
    let out = Expr::cell_normal(&surface);
    same(
        &scope,
        "cell_normal[2]",
        out.at(2),
        &Measure::cells(&surface),
    )?;
    let part = GeometryPartition::linear(share(&grid), 1, 2)?;
    let local = (0..6)
        .map(|c| part.local_cell(c).map_or(-1.0, |k| k as f64))
        .collect();
    let local = Expr::cell_data("local", local);
    assert!(assemble::integrate(&local.over(&cells.listed(part.cells()))).is_ok());
    Ok(())
}

#[test]
fn operators_of_fields() -> Done {
    let mesh = shapes::rectangle_triangles([2, 2], [0.0; 2], [1.0; 2])?;
    let vectors = Space::lagrange(&mesh, 2)?.vector(2)?;
    let x = Expr::position(&mesh);
    let w = assemble::interpolate(&(x.at(0) * &x), &vectors)?;
    let mut scope = Scope::new(share(&mesh));
    scope.set_field("w", &w);
    let (cells, sides) = (Measure::cells(&mesh), Measure::interior(&mesh));
    let u = w.expr();
    same(&scope, "inside(w)[0]", u.inside().at(0), &sides)?;
    same(&scope, "outside(w)[0]", u.outside().at(0), &sides)?;
    same(&scope, "grad(w)[0, 1]", u.grad().at2(0, 1), &cells)?;
    same(
        &scope,
        "grad(outside(w))[0, 1]",
        u.grad().outside().at2(0, 1),
        &sides,
    )?;
    same(&scope, "div(w)", u.div(), &cells)?;
    same(&scope, "div(outside(w))", u.div().outside(), &sides)?;
    same(
        &scope,
        "sym(grad(w))[0, 1]",
        u.grad().sym().at2(0, 1),
        &cells,
    )?;
    same(&scope, "curl(w)", u.curl(), &cells)?;
    same(&scope, "jump(w)[0]", u.jump().at(0), &sides)?;
    same(&scope, "avg(w)[0]", u.avg().at(0), &sides)?;
    same(
        &scope,
        "jump(grad(w))[0, 1]",
        u.grad().jump().at2(0, 1),
        &sides,
    )?;
    same(
        &scope,
        "avg(grad(w))[0, 1]",
        u.grad().avg().at2(0, 1),
        &sides,
    )?;
    same(
        &scope,
        "degree(w)",
        Expr::constant(vectors.degree() as f64),
        &cells,
    )?;
    same(
        &scope,
        "skew(grad(w))[0, 1]",
        u.grad().skew().at2(0, 1),
        &cells,
    )?;
    let g = u.grad();
    let spherical = g.trace() / 2.0 * Expr::identity(2);
    same(
        &scope,
        "(tr(grad(w))/2*I)[0, 0]",
        spherical.at2(0, 0),
        &cells,
    )?;
    same(&scope, "dev(grad(w))[0, 0]", g.dev().at2(0, 0), &cells)?;
    same(&scope, "inner(grad(w), grad(w))", g.inner(&g), &cells)?;
    same(&scope, "dot(w, w)", u.dot(&u), &cells)?;
    same(&scope, "outer(w, w)[0, 1]", u.outer(&u).at2(0, 1), &cells)?;
    same(&scope, "cross(w, w)", u.cross(&u), &cells)?;
    same(
        &scope,
        "det(I + grad(w))",
        (Expr::identity(2) + &g).det(),
        &cells,
    )?;
    same(
        &scope,
        "inv(I + grad(w))[0, 0]",
        (Expr::identity(2) + &g).inverse().at2(0, 0),
        &cells,
    )?;
    same(
        &scope,
        "transpose(grad(w))[0, 1]",
        g.transpose().at2(0, 1),
        &cells,
    )?;
    same(&scope, "norm(w)", u.norm(), &cells)?;
    let half = Expr::select(
        &x.at(0).less(0.5),
        &Expr::constant(1.0),
        &Expr::constant(2.0),
    );
    same(&scope, "select(x[0] < 0.5, 1, 2)", half, &cells)?;
    same(&scope, "atan2(x[1], x[0])", x.at(1).atan2(x.at(0)), &cells)?;
    same(
        &scope,
        "floor(2*x[0])",
        (2.0 * x.at(0)).unary(Unary::Floor),
        &cells,
    )?;
    same(&scope, "floor(x[0])", x.at(0).unary(Unary::Floor), &cells)?;
    let strain = |u: &Expr| u.grad().sym();
    let v = Expr::test(&vectors);
    let residual = strain(&u).inner(&strain(&v)).dx(&mesh);
    let tangent = residual.deriv(&w, &Expr::trial(&vectors));
    assert_eq!(assemble::matrix(&tangent)?.rows(), vectors.dof_count());
    let sum = (1..4).fold(Expr::constant(0.0), |sum, k| sum + x.at(0).pow(k as f64));
    assert!((assemble::integrate(&sum.dx(&mesh))? - (0.5 + 1.0 / 3.0 + 0.25)).abs() < 1e-13);
    Ok(())
}

#[test]
fn second_derivatives() -> Done {
    let grid = Grid2::unit([2, 2])?;
    let p = Field::zeros(&Space::lagrange(&grid, 2)?);
    let mut scope = Scope::new(share(&grid));
    scope.set_field("p", &p);
    let square = assemble::interpolate(&scope.expression("x[0]*x[0]")?, p.space())?;
    p.values_mut().copy_from_slice(&square.values());
    let p = p.expr();
    let bend = p.grad().grad();
    let laplacian = scope.expression("div(grad(p))")?;
    for e in [bend.at2(0, 0), laplacian] {
        assert!((assemble::integrate(&e.dx(&grid))? - 2.0).abs() < 1e-12);
    }
    Ok(())
}

#[test]
fn integrating_and_interpolating() -> Done {
    let grid = Grid2::unit([3, 3])?;
    let space = Space::lagrange(&grid, 1)?;
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let k = Param::scalar("k", 2.0);
    let a = (Expr::from(&k) * u.grad().dot(&v.grad())).dx(&grid);
    let l = v.dx(&grid);
    let matrix = assemble::matrix(&a)?;
    let vector = assemble::vector(&l)?;
    let area = assemble::integrate(&Expr::constant(1.0).dx(&grid))?;
    assert_eq!((matrix.rows(), vector.len()), (16, 16));
    assert!((area - 1.0).abs() < 1e-15);
    let mut plan = MatrixPlan::new(&a)?;
    let mut matrix = plan.matrix();
    plan.assemble(&mut matrix)?;
    k.set(3.0);
    plan.assemble(&mut matrix)?;
    let mut plan = VectorPlan::new(&l)?;
    let mut vector = vec![0.0; space.dof_count()];
    plan.assemble(&mut vector)?;
    assert!(ScalarPlan::new(&Expr::constant(1.0).dx(&grid))?.evaluate()? > 0.0);
    let both = a.clone() + (&u * &v).dx(&grid);
    assert_eq!(assemble::matrix(&both)?.rows(), 16);
    let mut nodal = NodalPlan::new(&(&u * &v).dx(&grid))?;
    let mut lumped = nodal.matrix();
    nodal.assemble_matrix(&mut lumped)?;
    assert!((lumped.diagonal().iter().sum::<f64>() - 1.0).abs() < 1e-14);
    let x = Expr::position(&grid);
    let field = assemble::interpolate(&x.at(0), &space)?;
    let projected = assemble::project(&x.at(0), &space)?;
    assert!((field.values()[5] - projected.values()[5]).abs() < 1e-10);
    let everywhere = Measure::cells(&grid);
    let mut plan =
        InterpolationPlan::new(&x.at(0), &space, &everywhere, Reduction::WeightedAverage)?;
    plan.evaluate(&mut vector)?;
    assert!((vector[5] - field.values()[5]).abs() < 1e-14);
    let sides = InterpolationPlan::new(
        &x.at(0),
        &space,
        &Measure::boundary(&grid),
        Reduction::First,
    )?;
    assert_eq!(sides.reached(), 12);
    let sides = PointPlan::on_elements(&x, &Measure::boundary(&grid), &[[0.5, 0.0, 0.0]])?;
    assert_eq!(sides.len(), 24);
    let free = assemble::evaluate_at_positions(&x, &share(&grid), &[[0.5, 0.5, 0.0]], 0.0)?;
    assert!((free[1] - 0.5).abs() < 1e-14);
    let identity = InterpolationMatrix::new(&u, &space, &everywhere, Reduction::First)?;
    assert_eq!(identity.assembled()?.diagonal(), vec![1.0; 16]);
    let chosen = InterpolationMatrix::derivative(
        &field.expr(),
        &field,
        &space,
        &everywhere,
        Reduction::Max,
    )?;
    assert_eq!(chosen.assembled()?.diagonal(), vec![1.0; 16]);
    let fine = Space::lagrange(&grid, 2)?;
    let restriction = assemble::prolongation(&space, &fine)?.transpose();
    assert_eq!((restriction.rows(), restriction.cols()), (16, 49));
    let centre = [[0.5, 0.5, 0.0]];
    let at_points = InterpolationMatrix::at_points(&u, &everywhere, &centre)?.matrix();
    let free = InterpolationMatrix::at_positions(&u, &[[0.5, 0.5, 0.0]])?.matrix();
    assert_eq!((at_points.rows(), free.rows()), (9, 1));
    let means = assemble::evaluate_at(&x.at(0), &share(&grid), &centre)?;
    assert_eq!(means.len(), 9);
    let mut points = PointPlan::on_cells(&field.expr().grad(), &share(&grid), &[0, 4], &centre)?;
    let mut out = vec![0.0; points.len()];
    points.evaluate(&mut out)?;
    let sand = ParticleQuadrature::new(&grid);
    sand.rebuild(&Cloud::new(&[[0.2, 0.2, 0.0]], &[1.0]))?;
    let mut gather = PointPlan::on_particles(&field.expr(), &sand)?;
    let mut values = vec![0.0; gather.len()];
    gather.evaluate(&mut values)?;
    assert!((values[0] - 0.2).abs() < 1e-14);
    let edges = Space::nedelec(&grid, 1)?;
    let rotation = Expr::tensor(Shape::Vector(2), vec![-x.at(1), x.at(0)]);
    assert_eq!(
        assemble::interpolate(&rotation, &edges)?.space().degree(),
        1
    );
    let energy = (field.expr() * field.expr()).dx(&grid);
    let gradient = assemble::vector(&energy.deriv(&field, &v))?;
    assert_eq!(gradient.len(), 16);
    let action = assemble::vector(&a.action(&field))?;
    assert_eq!(action.len(), 16);
    Ok(())
}

#[test]
fn domains() -> Done {
    let mesh = shapes::rectangle_quads([2, 2], [0.0; 2], [1.0; 2])?;
    let one = Expr::constant(1.0);
    let total = |measure: Measure| assemble::integrate(&one.over(&measure));
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
    close(total(Measure::cells(&mesh))?, 1.0);
    close(total(Measure::boundary(&mesh))?, 4.0);
    close(total(Measure::interior(&mesh))?, 2.0);
    let part = GeometryPartition::by_mask(share(&mesh), &[true, true, false, false])?;
    close(total(Measure::cells(&mesh).listed(part.cells()))?, 0.5);
    close(
        total(Measure::boundary(&mesh).listed(part.boundary_sides()))?,
        2.0,
    );
    close(
        total(Measure::interior(&mesh).listed(part.frontier_sides()))?,
        1.0,
    );
    close(
        total(Measure::cells(&mesh).masked(vec![true, false, false, false]))?,
        0.25,
    );
    close(total(Measure::cells(&mesh).listed(vec![0, 3]))?, 0.5);
    close(total(Measure::boundary(&mesh).tagged("left"))?, 1.0);
    let scope = Scope::new(share(&mesh));
    close(
        assemble::integrate(&scope.form("1*dx + 1*ds('left') + 1*dS")?)?,
        4.0,
    );
    Ok(())
}

#[test]
fn conditions_and_matrices() -> Done {
    let grid = Grid2::unit([4, 4])?;
    let space = Space::lagrange(&grid, 1)?;
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let mut a = assemble::matrix(&u.grad().dot(&v.grad()).dx(&grid))?;
    let mut b = assemble::vector(&v.dx(&grid))?;
    let mut fixed = Constraints::empty(space.node_count(), 1);
    fixed.constrain_form(7, &[0.5], &[1.0])?;
    assert_eq!(fixed.target(7), Some(&[2.0][..]));
    let clamp = Dirichlet::on(&space, "left")?.value(0.0)?;
    clamp.apply(&mut fixed)?;
    let mut wall = Constraints::empty(space.node_count(), 2);
    wall.constrain_direction(0, &[0.6, 0.8], 0.0)?;
    let unchanged = a.clone();
    fixed.apply(&mut a, &mut b)?;
    let mut again = unchanged.clone();
    fixed.lift(&again, &mut [0.0; 25])?;
    fixed.eliminate(&mut again)?;
    let zeros: BlockMatrix = BlockMatrix::zeros(a.pattern().clone(), [1, 1]);
    assert_eq!(zeros.max_abs(), 0.0);
    assert_eq!(a.to::<f32>().pattern(), a.pattern());
    let mut small =
        BlockMatrix::from_triplets(2, 2, [1, 1], &[0, 1, 0], &[0, 1, 0], &[1.0, 2.0, 3.0])?;
    small.set_triplets(&[0, 1], &[0, 1], &[5.0, 6.0])?;
    assert_eq!(small.get(0, 0), Some(&[5.0][..]));
    assert_eq!(small.without_zeros().pattern().entry_count(), 2);
    let wide = a.transpose();
    assert!(wide.is_symmetric(1e-12));
    assert_eq!((a.diagonal().len(), a.block_diagonal().len()), (25, 25));
    let mut sum = BlockMatrix::identity(25, 1)?;
    sum.scale(2.0);
    sum = BlockMatrix::sum(1.0, &sum, 3.0, &a)?;
    sum.set_masked(&a)?;
    let product = a.times(&a)?;
    let (x, mut y) = (vec![1.0; 25], vec![0.0; 25]);
    product.multiply(&x, &mut y)?;
    a.multiply_add(2.0, &x, 1.0, &mut y)?;
    a.multiply_transposed(1.0, &x, 0.0, &mut y)?;
    assert_eq!(Pattern::diagonal(4)?.entry_count(), 4);
    assert!(a.pattern().position(0, 1).is_some());
    assert_eq!(a.pattern().row(0).len(), 4);
    assert_eq!(
        BlockMatrix::<f32>::identity(4, 1)?
            .with_block([2, 2])?
            .rows(),
        4
    );
    assert_eq!(LinearOperator::rows(&a), 25);
    let options = KrylovOptions {
        tolerance: 1e-8,
        absolute: 0.0,
        max_iterations: Some(100),
        restart: 31,
    };
    let mut x = vec![0.0; 25];
    let mut cg = Krylov::new(Method::Cg, options)?;
    assert!(cg.solve(&a, &Jacobi::new(&a)?, &b, &mut x)?.iterations > 0);
    for method in [Method::Minres, Method::BiCgStab, Method::Gmres] {
        Krylov::new(method, options)?.solve(&a, &Identity, &b, &mut x)?;
    }
    Krylov::new(Method::Cg, options)?.solve(&a, &BlockJacobi::new(&a)?, &b, &mut x)?;
    let eigen = SymmetricEigen::new(2, &[2.0, 1.0, 1.0, 2.0]);
    assert!((eigen.values()[0] + eigen.values()[1] - 4.0).abs() < 1e-14);
    Ok(())
}

#[cfg(feature = "direct")]
#[test]
fn direct_solvers() -> Done {
    use weft::solve::{DirectKind, DirectSolver};
    let a = BlockMatrix::identity(4, 1)?;
    let (b, mut x) = ([1.0; 4], [0.0; 4]);
    DirectSolver::new(&a, DirectKind::Cholesky)?.solve(&b, &mut x)?;
    assert_eq!(x, b);
    Ok(())
}

#[test]
fn saddle_points() -> Done {
    let grid = Grid2::unit([4, 4])?;
    let (flux, head) = (
        Space::raviart_thomas(&grid, 1)?,
        Space::discontinuous(&grid, 0)?,
    );
    let (q, s) = (Expr::trial(&flux), Expr::test(&flux));
    let a = assemble::matrix(&q.dot(&s).dx(&grid))?;
    let b = assemble::matrix(&(q.div() * Expr::test(&head)).dx(&grid))?;
    let schur = solve::schur_by_diagonal(&a, &b)?;
    let system = BlockSystem::saddle(&a, &b)?;
    let (first, second) = (Jacobi::new(&a)?, Jacobi::new(&schur)?);
    let preconditioner = BlockDiagonal::new(&system, vec![&first, &second])?;
    let rhs = vec![1.0; system.size()];
    let mut x = vec![0.0; system.size()];
    let mut minres = Krylov::new(Method::Minres, KrylovOptions::default())?;
    minres.solve(&system, &preconditioner, &rhs, &mut x)?;
    Ok(())
}

#[test]
fn memory() -> Done {
    let pool = Pool::new();
    let scratch = pool.borrow_zeroed::<f64>(1000);
    let copy = pool.borrow_from(&scratch);
    let kept = copy.detach();
    drop(scratch);
    assert_eq!(kept.len(), 1000);
    assert!(Pool::default_pool().stats().live_bytes < usize::MAX);
    pool.trim();
    Ok(())
}

#[test]
fn usual_programs() -> Done {
    let grid = Grid2::unit([8, 8])?;
    let space = Space::lagrange(&grid, 1)?;
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    // Poisson.
    let a = u.grad().dot(&v.grad()).dx(&grid);
    let l = v.dx(&grid);
    let level = Param::scalar("level", 0.0);
    let edge = Dirichlet::on_boundary(&space).value(&level)?;
    let conditions = [edge];
    let solution = problem::solve(&a, &l, &conditions, Solver::cg())?;
    assert!(solution.values().iter().all(|u| (0.0..0.08).contains(u)));
    // Values that change with time.
    let mut heat = LinearProblem::new(&a, &l, &conditions, Solver::cg())?;
    level.set(1.0);
    heat.solve()?;
    assert!(heat.solution().values().iter().all(|u| *u >= 1.0 - 1e-9));
    // Back along the flow.
    let old = solution;
    let locator = Locator::new(&grid);
    let new = Field::zeros(&space);
    for (value, x) in new.values_mut().iter_mut().zip(space.node_positions()) {
        let foot = [x[0] - 0.05, x[1], 0.0];
        let at = locator.closest(foot, f64::INFINITY).unwrap();
        *value = old.evaluate(at.cell, at.xi)?.value[0];
    }
    assert!(new.values().iter().any(|v| *v > 0.0));
    // Discontinuous functions with upwind fluxes and interior penalty.
    let broken = Space::discontinuous(&grid, 1)?;
    let (u, v) = (Expr::trial(&broken), Expr::test(&broken));
    let (wind, n) = (Expr::vector(&[1.0, 0.5]), Expr::normal(&grid));
    let through = wind.dot(&n);
    let upwind = &through * u.avg() + 0.5 * through.unary(Unary::Abs) * u.jump();
    let penalty = Expr::measure_ratio(&grid) * 4.0 * u.jump() * v.jump();
    let fluxes = &penalty - u.grad().dot(&n).avg() * v.jump() - v.grad().dot(&n).avg() * u.jump();
    let sides = (upwind * v.jump() + fluxes).over(&Measure::interior(&grid));
    assert_eq!(assemble::matrix(&sides)?.rows(), broken.dof_count());
    // Newton.
    let v = Expr::test(&space);
    let w = Field::zeros(&space);
    let stiffness = 1.0 + w.expr() * w.expr();
    let residual = (stiffness * w.expr().grad().dot(&v.grad()) - &v).dx(&grid);
    level.set(0.0);
    let options = NewtonOptions::default();
    let solver = Solver::Krylov {
        method: Method::BiCgStab,
        preconditioner: problem::PreconditionerKind::Jacobi,
        options: KrylovOptions::default(),
    };
    NonlinearProblem::new(&residual, &w, &conditions, solver, options)?.solve()?;
    assert!(w.values().iter().any(|w| *w > 0.05));
    // From particles to the grid and back.
    let sand = ParticleQuadrature::new(&grid);
    sand.rebuild(&Cloud::new(&[[0.4, 0.3, 0.0]], &[0.01]))?;
    let speed = ParticleData::scalar("speed", &[2.0]);
    let momentum = Expr::from(&speed) * &v;
    let on_grid = assemble::vector(&momentum.over(&Measure::cells(&grid).on_particles(&sand)))?;
    assert!((on_grid.iter().sum::<f64>() - 0.02).abs() < 1e-15);
    // Several unknowns.
    let p = Field::zeros(&space);
    let q = Expr::test(&space);
    let residuals = [residual, ((p.expr() - w.expr()) * &q).dx(&grid)];
    let unknowns = [w, p];
    let refused = MixedProblem::new(&residuals, &unknowns, &conditions, NewtonOptions::default());
    assert!(refused.is_ok());
    // Adjoint.
    let load = assemble::vector(&l)?;
    let transposed = assemble::matrix(&(Expr::trial(&space) * &v).dx(&grid))?.transpose();
    let mut adjoint = vec![0.0; space.dof_count()];
    let diagonal = Jacobi::new(&transposed)?;
    Krylov::new(Method::Cg, KrylovOptions::default())?.solve(
        &transposed,
        &diagonal,
        &load,
        &mut adjoint,
    )?;
    Ok(())
}
