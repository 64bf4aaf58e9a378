use super::*;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// GEMMs of a made-up GPU: a launch, and the slower of arithmetic and memory.
fn tables(dir: &Path, engine: &str) {
    let mut text = "engine,backend_version,kernel_source,gemm_dtype,m,n,k,latency_ms\n".to_owned();
    for m in [1, 8, 64, 512, 4096] {
        for n in [1024, 4096, 8192, 12_288] {
            for k in [2048, 4096, 7168] {
                let (m, n, k) = (f64::from(m), f64::from(n), f64::from(k));
                let compute = 2.0 * m * n * k / 600e12;
                let memory = 2.0 * (n * k + m * k + m * n) / 3.6e12;
                let ms = 1e3 * (4e-6 + compute.max(memory));
                let _ = writeln!(text, "{engine},1.2.3,cublas,bfloat16,{m},{n},{k},{ms}");
            }
        }
    }
    let _ = writeln!(text, "{engine},1.2.3,cublas,bfloat16,1,1,1,-1");
    std::fs::create_dir_all(dir.join("gemm")).unwrap();
    std::fs::write(dir.join("gemm/h200_sxm.csv"), text).unwrap();
}

fn runner() -> CalibrationRunner {
    CalibrationRunner::new(Arc::new(|| {}), Arc::new(Catalog::load(None).unwrap()))
}

fn answer(runner: &mut CalibrationRunner) -> CalibrationMessage {
    let start = Instant::now();
    loop {
        if let Some(message) = runner.poll().pop() {
            return message;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no answer");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fit(runner: &mut CalibrationRunner, dir: &Path, calibrations: &Arc<Calibrations>) -> Arc<Refit> {
    runner.start(CalibrationWork::Fit {
        dir: dir.to_owned(),
        calibrations: Arc::clone(calibrations),
    });
    match answer(runner) {
        CalibrationMessage::Fitted(_, Ok(refit)) => refit,
        CalibrationMessage::Fitted(_, Err(why)) => panic!("{why}"),
        _ => panic!("another answer"),
    }
}

#[test]
fn a_fit_is_kept_beside_earlier_ones_and_then_predicts_its_own_tables() {
    let dir = tempfile::tempdir().unwrap();
    let presets = dir.path().join("presets");
    let kept = presets.join("calibration");
    let mut runner = runner();
    let none = Arc::new(Calibrations::default());
    let mut last = None;
    for engine in ["vllm", "sglang"] {
        let data = dir.path().join(engine);
        tables(&data, engine);
        let refit = fit(&mut runner, &data, &none);
        assert_eq!(refit.before.tables[0].near, None, "nothing was known of it");
        assert_eq!(refit.after.tables[0].rows, 60);
        assert_eq!(refit.after.tables[0].pairs.len(), 60);
        assert!(
            refit.after.overall.median < 0.1,
            "{:?}",
            refit.after.overall
        );
        let refused: usize = refit.after.refused.iter().map(|own| own.rows).sum();
        assert_eq!(refused, 1, "a negative time is no measurement");
        runner.start(CalibrationWork::Keep {
            refit,
            dir: kept.clone(),
        });
        let CalibrationMessage::Kept(_, Ok(files)) = answer(&mut runner) else {
            panic!("not kept");
        };
        assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        last = Some(data);
    }

    let all = Arc::new(Calibrations::load(Some(&presets)).unwrap());
    let mine = |engine: &str| {
        let own = all.surfaces().iter();
        own.filter(|own| own.id.engine == engine && own.id.version == "1.2.3")
            .count()
    };
    assert_eq!(
        (mine("vllm"), mine("sglang")),
        (1, 1),
        "the first one stayed"
    );
    let shipped = Calibrations::load(None).unwrap().surfaces().len();
    assert_eq!(all.surfaces().len(), shipped + 2, "and so did all of ours");

    runner.start(CalibrationWork::Compare {
        dir: last.unwrap(),
        calibrations: all,
    });
    let CalibrationMessage::Compared(_, Ok(compared)) = answer(&mut runner) else {
        panic!("not compared");
    };
    assert!(compared.overall.median < 0.1, "{:?}", compared.overall);
    assert_eq!(compared.families.len(), 1);
}

#[test]
fn what_was_cancelled_or_cannot_be_read_is_said_once_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    tables(dir.path(), "vllm");
    let mut runner = runner();
    let calibrations = Arc::new(Calibrations::default());
    runner.start(CalibrationWork::Fit {
        dir: dir.path().to_owned(),
        calibrations: Arc::clone(&calibrations),
    });
    runner.cancel();
    assert_eq!(runner.progress(), None);
    std::thread::sleep(Duration::from_millis(300));
    assert!(runner.poll().is_empty());

    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    runner.start(CalibrationWork::Compare {
        dir: empty,
        calibrations,
    });
    let CalibrationMessage::Compared(_, Err(why)) = answer(&mut runner) else {
        panic!("an empty folder was compared");
    };
    assert!(why.contains("no table"), "{why}");
}
