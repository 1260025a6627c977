//! Deterministic random numbers and words.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64-bit number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a vector of numbers from -1 to 1.
    pub fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| (self.number() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    /// Returns a word with a frequency as in natural language: half of the words have a rank below 200 of
    /// 30,000.
    pub fn word(&mut self) -> String {
        let uniform = (self.number() >> 11) as f64 / (1_u64 << 53) as f64;
        format!("w{}", 30_000_f64.powf(uniform) as u64)
    }
}
