//! What particles are made of.

use crate::MpmError;

/// From here on a modulus or pressure counts as infinite.
pub(crate) const INFINITE: f32 = 1e12;

/// A material: elastic, plastic with a capped Drucker-Prager surface, and viscous.
///
/// With pressure p (compression positive) and deviatoric stress of second invariant J2, stress
/// stays within `√J2 ≤ yield_stress + friction (p + tensile_yield_ratio yield_pressure)` and
/// `-tensile_yield_ratio yield_pressure ≤ p ≤ yield_pressure`; shear strength falls off again
/// towards the cap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Young's modulus, Pa; from 1e12 on the material is rigid until it yields.
    pub young_modulus: f32,
    /// Poisson's ratio, in (-1, 0.5).
    pub poisson_ratio: f32,
    /// Relaxation time of elastic damping (Kelvin-Voigt), s.
    pub damping: f32,
    /// Friction coefficient: √J2 over pressure.
    pub friction: f32,
    /// Largest pressure, Pa.
    pub yield_pressure: f32,
    /// Largest tension as a part of `yield_pressure`, in [0, 1].
    pub tensile_yield_ratio: f32,
    /// Shear strength √J2 without pressure, Pa.
    pub yield_stress: f32,
    /// Viscosity of plastic flow, Pa s.
    pub viscosity: f32,
    /// Strength of hardening ξ; 0: none. Strength is scaled by sinh(-ξ ln Jp), so a particle
    /// with plastic volume ratio Jp = 1 has none.
    pub hardening: f32,
    /// How fast compaction hardens.
    pub hardening_rate: f32,
    /// How fast dilation softens.
    pub softening_rate: f32,
    /// Volume gained by shear: 0 none, 1 associated flow.
    pub dilatancy: f32,
}

impl Default for Material {
    /// Dry sand: rigid until it yields, friction 0.5, no cohesion.
    fn default() -> Material {
        Material {
            young_modulus: 1e15,
            poisson_ratio: 0.3,
            damping: 0.0,
            friction: 0.5,
            yield_pressure: 1e15,
            tensile_yield_ratio: 0.0,
            yield_stress: 0.0,
            viscosity: 0.0,
            hardening: 0.0,
            hardening_rate: 1.0,
            softening_rate: 1.0,
            dilatancy: 0.0,
        }
    }
}

impl Material {
    /// Names of the values, in order, as in the fields and in case files.
    pub const NAMES: [&'static str; 12] = [
        "young_modulus",
        "poisson_ratio",
        "damping",
        "friction",
        "yield_pressure",
        "tensile_yield_ratio",
        "yield_stress",
        "viscosity",
        "hardening",
        "hardening_rate",
        "softening_rate",
        "dilatancy",
    ];

    /// The value of a name out of [`NAMES`](Self::NAMES).
    pub fn value_mut(&mut self, name: &str) -> Option<&mut f32> {
        Some(match name {
            "young_modulus" => &mut self.young_modulus,
            "poisson_ratio" => &mut self.poisson_ratio,
            "damping" => &mut self.damping,
            "friction" => &mut self.friction,
            "yield_pressure" => &mut self.yield_pressure,
            "tensile_yield_ratio" => &mut self.tensile_yield_ratio,
            "yield_stress" => &mut self.yield_stress,
            "viscosity" => &mut self.viscosity,
            "hardening" => &mut self.hardening,
            "hardening_rate" => &mut self.hardening_rate,
            "softening_rate" => &mut self.softening_rate,
            "dilatancy" => &mut self.dilatancy,
            _ => return None,
        })
    }

    /// Whether it deforms elastically.
    pub fn is_compliant(&self) -> bool {
        self.young_modulus < INFINITE
    }

    /// Checks all values; `index` names the material in errors.
    ///
    /// # Errors
    /// [`MpmError::Material`].
    pub fn check(&self, index: usize) -> Result<(), MpmError> {
        let mut copy = *self;
        for name in Material::NAMES {
            // Proven: the name is out of the list.
            let value = *copy.value_mut(name).expect("a known name");
            let (accepted, fine) = match name {
                "young_modulus" => ("expected a number above 0", value > 0.0),
                "poisson_ratio" => (
                    "expected a number above -1 and below 0.5",
                    value > -1.0 && value < 0.5,
                ),
                "tensile_yield_ratio" | "dilatancy" => (
                    "expected a number from 0 to 1",
                    (0.0..=1.0).contains(&value),
                ),
                _ => ("expected a number of at least 0", value >= 0.0),
            };
            if !(fine && value.is_finite()) {
                return Err(MpmError::Material {
                    material: index,
                    name,
                    value,
                    accepted,
                });
            }
        }
        Ok(())
    }

    /// Factor of the strength at plastic volume ratio `jp`.
    pub(crate) fn hardening_factor(&self, jp: f32) -> f32 {
        if self.hardening == 0.0 {
            return 1.0;
        }
        (-self.hardening * jp.clamp(0.1, 1.0).ln()).sinh()
    }
}
