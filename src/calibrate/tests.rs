//! Calibrations of made-up measurements: a formula with known parameters and a little noise.

use super::{Outcome, calibrate, measured, read_tables, validate, write};
use crate::catalog::Catalog;
use crate::cost::calibrated::{
    Calibrations, Call, Gemm, GemmFormat, Hardware, Kernel, Match, Shape, Wanted, hash, relatives,
};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Products on a GPU with every parameter at its start, moved by up to ±3 %.
fn gemm_csv(system: &str, gpu: &str, catalog: &Catalog) -> String {
    let gpu = catalog.gpu(&gpu.parse().unwrap()).unwrap();
    let hardware = Hardware::of(gpu);
    let parameters: Vec<f64> = Gemm::PARAMETERS.iter().map(|own| own.start).collect();
    let mut out =
        "gpu,engine,backend_version,kernel_source,gemm_dtype,m,n,k,latency_ms\n".to_owned();
    for n in [512.0, 1024.0, 2048.0, 4096.0, 5120.0, 8192.0_f64] {
        for k in [1024.0, 2048.0, 4096.0, 7168.0_f64] {
            for m in [
                1.0, 4.0, 16.0, 64.0, 128.0, 256.0, 512.0, 2048.0, 8192.0_f64,
            ] {
                let shape = Gemm {
                    m,
                    n,
                    k,
                    format: GemmFormat::Bf16,
                    call: Call::default(),
                };
                let seconds = Shape::Gemm(shape).physics(&hardware, &parameters).seconds;
                let noise = (hash(&[m.to_bits(), n.to_bits(), k.to_bits()]) % 1000) as f64 / 1000.0;
                let ms = seconds * 1e3 * (0.97 + 0.06 * noise);
                writeln!(
                    out,
                    "{system},vllm,0.24.0,linear,bfloat16,{m},{n},{k},{ms:.6}"
                )
                .unwrap();
            }
        }
    }
    out
}

fn folder(catalog: &Catalog) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut text = gemm_csv("h100_sxm", "h100-sxm", catalog);
    // A second GPU, a broken row of each kind.
    for line in gemm_csv("h200_sxm", "h200-sxm", catalog).lines().skip(1) {
        writeln!(text, "{line}").unwrap();
    }
    for broken in [
        "h100_sxm,vllm,0.24.0,linear,bfloat16,1,512,1024,0",
        "h100_sxm,vllm,0.24.0,linear,bfloat16,1,512,1024,NaN",
        "h100_sxm,vllm,0.24.0,linear,fp7,1,512,1024,0.1",
        "h100_sxm,vllm,0.24.0,linear,bfloat16,-4,512,1024,0.1",
        "h7000_sxm,vllm,0.24.0,linear,bfloat16,1,512,1024,0.1",
        "h100_sxm,vllm,0.24.0,linear,bfloat16,1",
    ] {
        writeln!(text, "{broken}").unwrap();
    }
    fs::write(dir.path().join("gemm.csv"), text).unwrap();
    dir
}

fn fit(dir: &Path, catalog: &Catalog, threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| calibrate(dir, catalog, &[], &|_, _| {}, &AtomicBool::new(false)))
        .unwrap()
}

fn bytes(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_known_law_is_found_again_and_files_are_the_same_whatever_the_threads() {
    let catalog = Catalog::embedded().unwrap();
    let data = folder(&catalog);
    let one = fit(data.path(), &catalog, 1);
    let two = fit(data.path(), &catalog, 2);
    assert_eq!(one.fits.len(), 2);
    for fitted in &one.fits {
        let errors = fitted.surface.held_out;
        assert_eq!(errors.rows, 216);
        // The noise is uniform to ±3 %, 1.5 % at its median; folds never saw their shapes.
        assert!(errors.median < 0.03 && errors.p95 < 0.10, "{errors:?}");
        assert!(errors.low < 0.0 && errors.high > 0.0);
    }
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(&one, &a.path().join("calibration")).unwrap();
    write(&two, &b.path().join("calibration")).unwrap();
    let first = bytes(&a.path().join("calibration"));
    assert_eq!(first, bytes(&b.path().join("calibration")));
    let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["h100-sxm.ron", "h200-sxm.ron", "report.md"]);
    // What is written is what is read: the same prices but for rounded parameters.
    let read = Calibrations::load(Some(a.path())).unwrap();
    let (tables, _) = read_tables(data.path(), &catalog).unwrap();
    let found = validate(&tables, Vec::new(), &read, &catalog);
    assert!(
        found.overall.errors.median < 0.03,
        "{:?}",
        found.overall.errors
    );
    assert_eq!(found.overall.nearness, Some(Match::Exact));
}

#[test]
fn every_row_not_taken_is_counted_with_its_reason() {
    let catalog = Catalog::embedded().unwrap();
    let data = folder(&catalog);
    let (tables, refused) = read_tables(data.path(), &catalog).unwrap();
    assert_eq!(
        tables.iter().map(|table| table.rows.len()).sum::<usize>(),
        432
    );
    assert_eq!(
        refused.iter().map(|own| own.rows).sum::<usize>(),
        6,
        "{refused:?}"
    );
    for words in [
        "latency_ms is zero",
        "latency_ms is not a number",
        "gemm_dtype",
        "m is not",
        "unknown GPU",
        "n is missing",
    ] {
        assert!(
            refused.iter().any(|own| own.why.contains(words)),
            "{words}: {refused:?}"
        );
    }
    assert!(
        refused
            .iter()
            .all(|own| own.file == "gemm.csv" && own.line > 432)
    );
    // Nothing at all, and nothing there.
    let empty = tempfile::tempdir().unwrap();
    let error = read_tables(empty.path(), &catalog).unwrap_err().to_string();
    assert!(error.contains("no table"), "{error}");
    assert!(read_tables(&empty.path().join("missing"), &catalog).is_err());
}

#[test]
fn a_gpu_never_measured_is_priced_by_its_relative_and_says_so() {
    let catalog = Catalog::embedded().unwrap();
    let data = folder(&catalog);
    let outcome = fit(data.path(), &catalog, 2);
    let all = Calibrations::of(outcome.fits.iter().map(|own| own.surface.clone()).collect());
    let h800 = catalog.gpu(&"h800-sxm".parse().unwrap()).unwrap();
    let wanted = Wanted {
        gpu: &h800.id,
        family: crate::cost::calibrated::Family::Gemm,
        precision: "bfloat16",
        engine: "vllm",
        version: "0.11.0",
        kernel: "",
        tags: &[],
    };
    let (surface, near) = all
        .find(&wanted, &relatives(h800, wanted.family, &catalog))
        .unwrap();
    assert_eq!(
        (surface.id.gpu.as_str(), near),
        ("h100-sxm", Match::Relative)
    );
    let wider = all.band(surface, near);
    let own = all.band(surface, Match::Exact);
    assert!(wider.below > own.below && wider.above > own.above);
    // Its relatives stood in for each other, and the law is the same: the physics carries over.
    for (gpu, kin, _, errors) in &outcome.stand_ins.left_out {
        assert!(
            gpu != kin && errors.median < 0.10,
            "{gpu} by {kin}: {errors:?}"
        );
    }
    // Another maker's kernels are other kernels.
    let amd = catalog.gpu(&"mi300x".parse().unwrap()).unwrap();
    let wanted = Wanted {
        gpu: &amd.id,
        ..wanted
    };
    assert!(
        all.find(&wanted, &relatives(amd, wanted.family, &catalog))
            .is_none()
    );
}

#[test]
fn a_profile_gives_back_what_was_measured() {
    let catalog = Catalog::embedded().unwrap();
    let data = folder(&catalog);
    let surfaces = measured(data.path(), &catalog, &|_, _| {}, &AtomicBool::new(false)).unwrap();
    let (tables, _) = read_tables(data.path(), &catalog).unwrap();
    for (surface, table) in surfaces.iter().zip(&tables) {
        let hardware = Hardware::of(catalog.gpu(&surface.id.gpu).unwrap());
        for row in &table.rows {
            let own = surface.estimate(&hardware, &row.shape);
            assert!(own.measured);
            let off = own.parts.seconds / row.seconds - 1.0;
            assert!(off.abs() < 1e-3, "{:?}: {off}", row.shape);
        }
    }
    let cancelled = measured(data.path(), &catalog, &|_, _| {}, &AtomicBool::new(true));
    assert!(cancelled.is_err());
}
