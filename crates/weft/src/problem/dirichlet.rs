//! Dirichlet conditions: values prescribed on tagged parts of the boundary.

use super::ProblemError;
use crate::assemble::PointPlan;
use crate::element::ElementFamily;
use crate::form::{Expr, Shape};
use crate::solve::Constraints;
use crate::space::{Space, ValueKind};

/// Cosine of the angle between normals above which they count as one direction: facets of a
/// smooth surface prescribe their mean normal, an edge between faces prescribes both.
const SAME_NORMAL: f64 = 0.85;

#[derive(Clone, Debug)]
enum Part {
    Whole,
    Component(usize),
    Normal,
    Tangential,
}

/// A prescribed value on sides or vertices of one name. The value is the whole value, one
/// component, the component along the outward normal, or the part tangential to the boundary. In
/// H(curl) and H(div) spaces a vector is given, of which the tangential or the normal component
/// counts.
#[derive(Clone, Debug)]
pub struct Dirichlet {
    space: Space,
    tag: Option<String>,
    part: Part,
    value: Expr,
}

impl Dirichlet {
    /// Prescribe zero on the sides (or vertices) called `tag`; change what and how much with
    /// the methods below.
    ///
    /// # Errors
    /// If nothing is called so, or the space has no values there: constants of cells have none at sides,
    /// Crouzeix–Raviart, H(curl) and H(div) functions none at vertices.
    pub fn on(space: &Space, tag: &str) -> Result<Dirichlet, ProblemError> {
        let condition = Dirichlet {
            space: space.clone(),
            tag: Some(tag.to_owned()),
            part: Part::Whole,
            value: Expr::zero(space.shape()),
        };
        // Asked for now, so that a misspelt name is reported here.
        condition.nodes()?;
        Ok(condition)
    }

    /// Prescribe zero on the whole boundary.
    pub fn on_boundary(space: &Space) -> Dirichlet {
        Dirichlet {
            space: space.clone(),
            tag: None,
            part: Part::Whole,
            value: Expr::zero(space.shape()),
        }
    }

    /// Prescribe one component of a vector. Call before [`Dirichlet::value`].
    pub fn component(mut self, component: usize) -> Result<Dirichlet, ProblemError> {
        match self.space.value() {
            ValueKind::Vector(n) if component < n => {}
            other => {
                return Err(ProblemError::Mismatch(format!(
                    "component {component} cannot be prescribed: the unknown is a {}",
                    other.shape()
                )));
            }
        }
        self.check_unset("component")?;
        self.part = Part::Component(component);
        self.value = Expr::zero(Shape::Scalar);
        Ok(self)
    }

    /// Prescribe the component along the outward normal. Call before [`Dirichlet::value`].
    pub fn normal(mut self) -> Result<Dirichlet, ProblemError> {
        self.check_vector("normal component")?;
        self.check_unset("normal")?;
        self.part = Part::Normal;
        self.value = Expr::zero(Shape::Scalar);
        Ok(self)
    }

    /// Prescribe the part tangential to the boundary: of the value given, a vector, the component along the
    /// normal is left out. Where sides meet at an angle, what is tangential to either is prescribed. Call
    /// before [`Dirichlet::value`].
    pub fn tangential(mut self) -> Result<Dirichlet, ProblemError> {
        self.check_vector("tangential part")?;
        self.check_unset("tangential")?;
        self.part = Part::Tangential;
        Ok(self)
    }

    /// Demands a vector with a component along each axis.
    fn check_vector(&self, what: &str) -> Result<(), ProblemError> {
        let dim = self.space.geometry().space_dim();
        if self.space.value() == ValueKind::Vector(dim) {
            return Ok(());
        }
        Err(ProblemError::Mismatch(format!(
            "the {what} cannot be prescribed: the unknown is a {}, not a vector of {dim}",
            self.space.shape()
        )))
    }

    fn check_unset(&self, method: &str) -> Result<(), ProblemError> {
        if let Some(element) = self.space.vector_element() {
            return Err(ProblemError::Mismatch(format!(
                "{method} cannot be called on a condition in a {} space: its conditions prescribe \
                 the tangential or normal component by themselves",
                element.family()
            )));
        }
        if self.value.is_zero() {
            return Ok(());
        }
        Err(ProblemError::Mismatch(format!(
            "call `{method}` before `value`: the value `{}` was given for the whole unknown",
            self.value
        )))
    }

    /// Prescribe this value: an expression of the position, of parameters and fields. A scalar
    /// given for a vector or matrix holds for each component. Of a matrix given for symmetric or
    /// skew-symmetric tensors that part of it counts.
    pub fn value(mut self, value: impl Into<Expr>) -> Result<Dirichlet, ProblemError> {
        let value = value.into();
        value.check()?;
        let wanted = match self.part {
            Part::Whole | Part::Tangential => self.space.shape(),
            Part::Component(_) | Part::Normal => Shape::Scalar,
        };
        self.value = if value.shape() == wanted {
            value
        } else if value.shape().is_scalar() {
            if matches!(self.space.value(), ValueKind::Skew(_)) && !value.is_zero() {
                return Err(ProblemError::Mismatch(format!(
                    "the entries of a skew-symmetric tensor cannot all be `{value}`; it takes a {wanted}"
                )));
            }
            Expr::tensor(wanted, vec![value; wanted.len()])
        } else {
            return Err(ProblemError::Mismatch(format!(
                "the prescribed value `{value}` is a {}, the unknown takes a {wanted}",
                value.shape()
            )));
        };
        self.value.check()?;
        Ok(self)
    }

    /// The space of the condition.
    pub fn space(&self) -> &Space {
        &self.space
    }

    fn sides(&self) -> Vec<u32> {
        match &self.tag {
            Some(tag) => {
                let tags = self.space.geometry().tags();
                tags.sides(tag).unwrap_or_default().to_vec()
            }
            None => self.space.topology().boundary_sides().to_vec(),
        }
    }

    fn nodes(&self) -> Result<Vec<u32>, ProblemError> {
        let space = &self.space;
        check_nodes(space)?;
        let (nodes, sides, vertices) = match &self.tag {
            Some(tag) => {
                let nodes = space.tagged_nodes(tag)?;
                let tags = space.geometry().tags();
                let sides = tags.sides(tag).map_or(0, |s| s.len());
                (nodes, sides, tags.vertices(tag).map_or(0, |v| v.len()))
            }
            None => {
                let sides = space.topology().boundary_sides();
                let mut nodes: Vec<u32> = sides
                    .iter()
                    .flat_map(|&s| space.side_nodes(s as usize))
                    .collect();
                nodes.sort_unstable();
                nodes.dedup();
                (nodes, sides.len(), 0)
            }
        };
        if !nodes.is_empty() || sides + vertices == 0 {
            return Ok(nodes);
        }
        let element = match space.vector_element() {
            Some(element) => element.family().to_string(),
            None => space.element().name(),
        };
        Err(ProblemError::Mismatch(format!(
            "a {element} has no values at the {} of {}: impose the condition weakly, by an integral over sides",
            if sides > 0 { "sides" } else { "vertices" },
            match &self.tag {
                Some(tag) => format!("\"{tag}\""),
                None => "the boundary".to_owned(),
            }
        )))
    }

    /// Add the condition, with its value as it is now.
    ///
    /// # Errors
    /// If the space has no values there, the value isn't finite, or it contradicts an earlier condition.
    pub fn apply(&self, constraints: &mut Constraints) -> Result<(), ProblemError> {
        let space = &self.space;
        let nodes = self.nodes()?;
        if space.vector_element().is_some() {
            return self.apply_moments(&nodes, constraints);
        }
        let len = self.value.shape().len();
        let values = self.values_at(&nodes)?;
        constraints.expect(&values);
        let at = |k: usize| &values[k * len..(k + 1) * len];
        match self.part {
            Part::Whole => {
                let kind = space.value();
                let mut dofs = vec![0.0; space.components()];
                for (k, &node) in nodes.iter().enumerate() {
                    for (dof, out) in dofs.iter_mut().enumerate() {
                        *out = kind.dof(dof, at(k));
                    }
                    constraints.constrain_node(node as usize, &dofs)?;
                }
            }
            Part::Component(component) => {
                for (k, &node) in nodes.iter().enumerate() {
                    constraints.constrain_component(node as usize, component, at(k)[0])?;
                }
            }
            Part::Normal | Part::Tangential => {
                let dim = space.geometry().space_dim();
                for (k, normals) in self.normals(&nodes).iter().enumerate() {
                    if normals.is_empty() {
                        return Err(ProblemError::Mismatch(format!(
                            "node {} has no normal: it lies on no boundary side of the group",
                            nodes[k]
                        )));
                    }
                    let node = nodes[k] as usize;
                    for n in normals {
                        if matches!(self.part, Part::Normal) {
                            constraints.constrain_direction(node, &n[..dim], at(k)[0])?;
                            continue;
                        }
                        for t in &tangents(n, dim) {
                            let along = (0..dim).map(|d| t[d] * at(k)[d]).sum();
                            constraints.constrain_direction(node, &t[..dim], along)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Prescribe moments on sides: of the tangential component in H(curl), the normal one in H(div).
    fn apply_moments(
        &self,
        nodes: &[u32],
        constraints: &mut Constraints,
    ) -> Result<(), ProblemError> {
        let dofs = crate::assemble::interpolate_values(&self.value, &self.space)?;
        let values: Vec<f64> = nodes.iter().map(|&node| dofs[node as usize]).collect();
        constraints.expect(&values);
        for (&node, value) in nodes.iter().zip(values) {
            if !value.is_finite() {
                return Err(ProblemError::Mismatch(format!(
                    "the moment of the prescribed value `{}` is {value} at node {node}",
                    self.value
                )));
            }
            constraints.constrain_node(node as usize, &[value])?;
        }
        Ok(())
    }

    /// Values at nodes, from the cell of smallest number that has each.
    fn values_at(&self, nodes: &[u32]) -> Result<Vec<f64>, ProblemError> {
        let space = &self.space;
        let len = self.value.shape().len();
        let mut out = vec![0.0; nodes.len() * len];
        if self.value.is_zero() {
            return Ok(out);
        }
        let mut plan = PointPlan::new(&self.value, space.geometry(), space.element().nodes())?;
        let mut all = vec![0.0; plan.len()];
        plan.evaluate(&mut all)?;
        let per_cell = space.nodes_per_cell();
        for cell in (0..space.topology().cell_count()).rev() {
            for (i, node) in space.cell_nodes(cell).iter().enumerate() {
                if let Ok(k) = nodes.binary_search(node) {
                    let from = (cell * per_cell + i) * len;
                    out[k * len..(k + 1) * len].copy_from_slice(&all[from..from + len]);
                }
            }
        }
        if let Some(k) = out.iter().position(|v| !v.is_finite()) {
            return Err(ProblemError::Mismatch(format!(
                "the prescribed value `{}` is {} at node {}",
                self.value,
                out[k],
                nodes[k / len]
            )));
        }
        Ok(out)
    }

    /// Unit normals at each node, averaged over sides that nearly agree.
    fn normals(&self, nodes: &[u32]) -> Vec<Vec<[f64; 3]>> {
        let space = &self.space;
        let geometry = space.geometry();
        let topology = space.topology();
        let kind = topology.cell_kind();
        let mut sums: Vec<Vec<[f64; 3]>> = vec![Vec::new(); nodes.len()];
        for side in self.sides() {
            let cell = topology.side_cells(side as usize)[0] as usize;
            let local = topology.side_locals(side as usize)[0] as usize;
            let cell_nodes = space.cell_nodes(cell);
            let part = geometry.side_maps(topology, side as usize)[0];
            for &i in space.element().closure_nodes(local) {
                if !part.holds(space.element().nodes()[i as usize]) {
                    continue;
                }
                let Ok(k) = nodes.binary_search(&cell_nodes[i as usize]) else {
                    continue;
                };
                let xi = space.element().nodes()[i as usize];
                let frame = crate::geometry::frame_at(&**geometry, cell, xi);
                // Weighted by the side's area density.
                let n = frame
                    .push_gradient(kind.side_normal(local))
                    .map(|c| c * frame.measure);
                let same = sums[k].iter_mut().find(|s| {
                    let dot: f64 = (0..3).map(|d| s[d] * n[d]).sum();
                    dot > SAME_NORMAL * length(s) * length(&n)
                });
                match same {
                    Some(sum) => (0..3).for_each(|d| sum[d] += n[d]),
                    None => sums[k].push(n),
                }
            }
        }
        for sum in sums.iter_mut().flatten() {
            let l = length(sum);
            *sum = sum.map(|c| c / l);
        }
        sums
    }
}

/// Unit vectors orthogonal to the unit vector `n` and to one another: `dim` − 1 of them.
fn tangents(n: &[f64; 3], dim: usize) -> Vec<[f64; 3]> {
    if dim == 2 {
        return vec![[-n[1], n[0], 0.0]];
    }
    if dim < 2 {
        return Vec::new();
    }
    // The axis that is furthest from the normal, less its part along it.
    let mut axis = 0;
    for d in 1..3 {
        if n[d].abs() < n[axis].abs() {
            axis = d;
        }
    }
    let mut t: [f64; 3] = std::array::from_fn(|d| (d == axis) as usize as f64 - n[axis] * n[d]);
    let l = length(&t);
    t = t.map(|c| c / l);
    let other = std::array::from_fn(|d| {
        let (i, j) = ((d + 1) % 3, (d + 2) % 3);
        n[i] * t[j] - n[j] * t[i]
    });
    vec![t, other]
}

/// Demands that values at nodes on the boundary determine a function there.
fn check_nodes(space: &Space) -> Result<(), ProblemError> {
    let element = space.element();
    if space.vector_element().is_some() {
        return Ok(());
    }
    let inside = [ElementFamily::Polynomial, ElementFamily::Points];
    if element.is_nodal() && !inside.contains(&element.family()) {
        return Ok(());
    }
    Err(ProblemError::Mismatch(format!(
        "values cannot be prescribed at nodes for a {}: impose them weakly, by an integral over the boundary",
        element.name()
    )))
}

fn length(v: &[f64; 3]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}
