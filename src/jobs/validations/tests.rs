use super::*;
use crate::cost::Roofline;
use std::time::{Duration, Instant};

const HEADER: &str = "id,backend,backend_version,model_path,system,precision,mode,isl,osl,tp_size,moe_tp_size,concurrency,silicon_ttft_ms,silicon_tpot_ms";

fn job(rows: PathBuf) -> ValidationJob {
    ValidationJob {
        rows,
        user_dir: None,
        fidelity: Arc::new(Roofline),
        catalog: Arc::new(Catalog::load(None).unwrap()),
        models: Arc::new(Models::load(None).unwrap()),
    }
}

fn file(dir: &Path, rows: &[String]) -> PathBuf {
    let path = dir.join(format!("{}.csv", rows.len()));
    std::fs::write(&path, format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap();
    path
}

fn row(id: &str, concurrency: u32, osl: u32) -> String {
    format!("{id},vllm,0.11.0,x/Qwen3-32B,h100_sxm,fp8,agg,512,{osl},2,2,{concurrency},100,10")
}

fn answer(runner: &mut ValidationRunner) -> ValidationMessage {
    let start = Instant::now();
    loop {
        if let Some(message) = runner.poll().pop() {
            return message;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no answer");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn rows_are_predicted_with_their_settings_and_drawn_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = ValidationRunner::new(Arc::new(|| {}));
    let rows = [
        row("a", 4, 16),
        row("b", 8, 16),
        row("c", 8, 16).replace("vllm", "tgi"),
    ];
    runner.start(job(file(dir.path(), &rows)));
    let found = answer(&mut runner).found.unwrap();
    assert_eq!(runner.progress(), None);
    let own = &found.outcome;
    assert_eq!((own.predicted.len(), own.refused.len()), (2, 1));
    assert_eq!((own.predicted_rows(), own.usable_rows()), (2, 3));
    let first = &own.predicted[0];
    assert!(first.prediction.tpot > 0.0);
    let weights = first.prediction.settings.iter();
    let mut weights = weights.filter(|own| own.name == "weights");
    assert!(weights.all(|own| own.value == "fp8" && !own.source.is_empty()));
    let drawn = found.predictor.draw(&first.measured.condition).unwrap();
    assert_eq!(drawn.design.pools.len(), 1);
    assert_eq!(drawn.settings, first.prediction.settings);
    let headlines = own.headlines();
    assert_eq!(headlines.len(), 2, "co-located, and of them the dense");
    assert_eq!(headlines[0].scores, headlines[1].scores);
}

#[test]
fn a_job_that_was_cancelled_stops_soon_and_one_superseded_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let many: Vec<String> = (1..200).map(|n| row(&format!("r{n}"), n, 500)).collect();
    let long = file(dir.path(), &many);
    let short = file(dir.path(), &[row("a", 1, 4)]);
    let mut runner = ValidationRunner::new(Arc::new(|| {}));
    runner.start(job(long.clone()));
    runner.start(job(short.clone()));
    assert_eq!(answer(&mut runner).rows, short);
    runner.start(job(long));
    std::thread::sleep(Duration::from_millis(50));
    let shared = Arc::clone(runner.current.as_ref().unwrap());
    runner.cancel();
    let start = Instant::now();
    while !shared.finished.load(Ordering::Acquire) {
        assert!(start.elapsed() < Duration::from_secs(10), "it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(runner.poll().is_empty());
    assert_eq!(runner.progress(), None);
}

#[test]
fn files_without_a_row_to_predict_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut runner = ValidationRunner::new(Arc::new(|| {}));
    for (rows, why) in [
        (vec![], "has no rows"),
        (vec![row("a", 1, 1).replace("agg", "maybe")], "are refused"),
    ] {
        runner.start(job(file(dir.path(), &rows)));
        let error = answer(&mut runner).found.err().unwrap();
        assert!(error.contains(why), "{error}");
    }
}
