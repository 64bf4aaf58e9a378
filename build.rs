//! Rebuilds the crate when a preset is added: the derive that embeds them can't see new files.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=presets");
}
