//! The window as people use it: found by name, moved by the pointer, read back from the document.

use eframe::egui::{self, Event, Modifiers, PointerButton, Pos2, accesskit::Role as Access, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use frontier::app::App;
use frontier::app::selection::Item;
use frontier::catalog::ModelId;
use frontier::jobs::CurvePoint;
use frontier::plan::ModelRef;
use frontier::project::{self, FIRST_EXAMPLE, Project, to_text};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a curve may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A window with a document in it.
pub struct Window {
    pub harness: Harness<'static, App>,
}

impl Window {
    pub fn open(project: Project) -> Self {
        let harness = Harness::builder()
            .with_size([1600.0, 1100.0])
            .with_max_steps(60)
            .build_eframe(|cc| App::for_test(&cc.egui_ctx, project).unwrap());
        let mut window = Self { harness };
        window.settle();
        window
    }

    /// With folders of its own; paths are typed.
    pub fn with(options: frontier::app::AppOptions) -> Self {
        let harness = Harness::builder()
            .with_size([1600.0, 1100.0])
            .with_max_steps(60)
            .build_eframe(|cc| App::for_test_with(&cc.egui_ctx, options).unwrap());
        let mut window = Self { harness };
        window.settle();
        window
    }

    pub fn example() -> Self {
        Self::open(project::example(FIRST_EXAMPLE).unwrap())
    }

    pub fn app(&self) -> &App {
        self.harness.state()
    }

    pub fn text(&self) -> String {
        to_text(self.app().project())
    }

    /// A few frames: what was asked for is done and drawn.
    pub fn settle(&mut self) {
        self.harness.run_steps(5);
    }

    pub fn wait<T>(&mut self, what: &str, test: impl Fn(&Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = test(self) {
                self.settle();
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "waited for {what}");
            std::thread::sleep(Duration::from_millis(5));
            self.harness.step();
        }
    }

    /// The curve of the design in view, of the document as it is.
    pub fn curve(&mut self) -> Vec<CurvePoint> {
        self.wait("the curve", |w| w.app().curve().map(<[_]>::to_vec))
    }

    pub fn button(&self, label: &str) -> Pos2 {
        let found = self.harness.get_by_role_and_label(Access::Button, label);
        found.rect().center()
    }

    pub fn place(&self, label: &str) -> Pos2 {
        self.harness.get_by_label(label).rect().center()
    }

    pub fn press(&mut self, at: Pos2, pressed: bool) {
        self.harness.event(Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
        self.harness.step();
    }

    pub fn click(&mut self, at: Pos2) {
        self.harness.hover_at(at);
        self.harness.step();
        self.press(at, true);
        self.press(at, false);
        self.settle();
    }

    pub fn drag(&mut self, from: Pos2, to: Pos2) {
        self.harness.hover_at(from);
        self.harness.step();
        self.press(from, true);
        for step in 1..=8u8 {
            self.harness.hover_at(from.lerp(to, f32::from(step) / 8.0));
            self.harness.step();
        }
        self.press(to, false);
        self.settle();
    }

    /// Types into the field that has the focus, in place of what it says.
    pub fn type_anew(&mut self, text: &str) {
        self.harness
            .key_combination_modifiers(Modifiers::COMMAND, &[egui::Key::A]);
        self.harness.step();
        self.harness.event(Event::Text(text.to_owned()));
        self.harness.step();
        self.harness.key_press(egui::Key::Enter);
        self.settle();
    }

    /// Drops files on the window, as a file manager does.
    pub fn drop_files(&mut self, paths: &[&Path]) {
        #[derive(Debug)]
        struct Dropped(PathBuf);
        impl egui::DroppedFile for Dropped {
            fn path(&self) -> &Path {
                &self.0
            }
            fn bytes(&self) -> Result<Vec<u8>, String> {
                Err("the program reads files by their paths".to_owned())
            }
        }
        for path in paths {
            let file = Dropped((*path).to_owned());
            self.harness.input_mut().dropped_files.push(Arc::new(file));
        }
        self.harness.step();
        self.harness.input_mut().dropped_files.clear();
    }

    pub fn wait_for_label(&mut self, label: &str) {
        self.wait(label, |w| {
            w.harness.query_by_label_contains(label).map(drop)
        });
    }

    pub fn click_label(&mut self, label: &str) {
        let found = self.harness.get_by_label_contains(label).rect();
        self.click(found.center());
    }

    /// `Undo: …` of the Edit menu; false: there is nothing to undo.
    pub fn undo(&mut self) -> bool {
        self.click(self.button("Edit"));
        let item = self
            .harness
            .query_by_label_contains("Undo: ")
            .map(|item| item.rect().center());
        if let Some(item) = item {
            self.click(item);
        }
        item.is_some()
    }
}

fn last(curve: &[CurvePoint]) -> f64 {
    let point = curve.last().unwrap();
    point.summary.output_tokens_per_s
}

#[test]
fn a_node_is_drawn_joined_painted_and_undone_with_the_pointer_alone() {
    let mut window = Window::example();
    let first = window.text();
    window.click(window.place("Design B Co-located"));
    let before = window.curve();
    for _ in 0..2 {
        window.click(window.button("Zoom out"));
    }
    let canvas = window.harness.get_by_label("Canvas").rect();

    window.drag(
        window.button("HGX H800"),
        pos2(canvas.center().x, canvas.top() + 110.0),
    );
    window.drag(
        window.button("QM9700 leaf"),
        pos2(canvas.left() + 110.0, canvas.top() + 110.0),
    );
    let cluster = |w: &Window| w.app().design().cluster.clone();
    assert_eq!(cluster(&window).groups.len(), 4);

    window.click(window.button("InfiniBand"));
    window.drag(window.place("node h800-1"), window.place("switch leaf-1"));
    assert_eq!(cluster(&window).links.len(), 2);
    assert_eq!(cluster(&window).links[1].count, 8, "all of its NICs");

    window.click(window.button("Co-located"));
    window.click(window.place("node h800-1"));
    let pool = &window.app().design().pools[0];
    let gpus: u64 = pool.gpus.iter().map(frontier::cluster::GpuRange::len).sum();
    assert_eq!(gpus, 24);
    let after = window.curve();
    assert!(
        last(&after) > 1.3 * last(&before),
        "half as many GPUs again serve more: {} and {}",
        last(&before),
        last(&after)
    );

    let mut steps = 0;
    while window.text() != first {
        assert!(window.undo(), "undone to the first document");
        steps += 1;
    }
    assert_eq!(steps, 4, "node, switch, link, paint");
    let again = window.curve();
    assert_eq!(
        last(&again).to_bits(),
        last(&before).to_bits(),
        "the same document, the same curve"
    );
}

#[test]
fn a_click_on_a_problem_selects_the_culprit_and_its_button_mends_it() {
    let mut project = project::example(FIRST_EXAMPLE).unwrap();
    let pool = &mut project.designs[0].pools[0];
    (pool.layout.tp, pool.layout.ep) = (3, 1);
    let id = pool.id.clone();
    let mut window = Window::open(project);
    window.wait("a problem", |w| {
        let found = w.harness.query_by_label_contains("Problems ");
        found.map(drop)
    });
    let tab = window.harness.get_by_label_contains("Problems ").rect();
    window.click(tab.center());
    let row = window
        .harness
        .query_all_by_label_contains("Go to A · pool Prefill")
        .next()
        .unwrap()
        .rect();
    window.click(row.left_center() + egui::vec2(40.0, 0.0));
    assert!(window.app().selection().has(&Item::Pool(id)));

    let mend = window
        .harness
        .query_all_by_role(Access::Button)
        .find(|button| {
            let label = button.accesskit_node().label().unwrap_or_default();
            row.contains(button.rect().center()) && !label.starts_with("Go to")
        })
        .unwrap()
        .rect();
    window.click(mend.center());
    let tp = window.app().design().pools[0].layout.tp;
    assert!(64 % tp == 0 && tp != 3, "TP {tp}");
    window.curve();
}

#[test]
fn an_edit_in_the_inspector_computes_the_curve_anew() {
    let mut window = Window::example();
    let before = window.curve();
    let field = window
        .harness
        .get_by_role_and_label(Access::SpinButton, "Input tokens")
        .rect();
    window.click(field.center());
    window.type_anew("512");
    let lengths = window.text();
    assert!(lengths.contains("512"), "the document has it");
    let after = window.curve();
    assert!(
        last(&after) > last(&before),
        "shorter prompts leave more for output"
    );
}

#[test]
fn what_cannot_be_saved_is_said_and_the_old_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old.frontier.ron");
    let mut window = Window::example();
    let save_as = |window: &mut Window, path: &std::path::Path| {
        window.click(window.button("File"));
        let item = window.harness.get_by_label_contains("Save as…").rect();
        window.click(item.center());
        window.wait("the field for a path", |w| {
            w.harness
                .query_by_role_and_label(Access::Button, "Save")
                .map(drop)
        });
        window.type_anew(path.to_str().unwrap());
    };
    save_as(&mut window, &old);
    window.wait("the file", |_| old.exists().then_some(()));
    let written = std::fs::read_to_string(&old).unwrap();

    let field = window
        .harness
        .get_by_role_and_label(Access::SpinButton, "Input tokens")
        .rect();
    window.click(field.center());
    window.type_anew("512");
    let edited = window.text();
    // A file is no folder: nothing can be written there, by nobody.
    save_as(&mut window, &old.join("new.frontier.ron"));
    window.wait("the error", |w| {
        w.harness
            .query_by_label_contains("Can't save the project")
            .map(drop)
    });
    assert_eq!(std::fs::read_to_string(&old).unwrap(), written);
    assert_eq!(window.text(), edited, "nothing typed was lost");

    // Another file is only replaced when asked twice.
    window.click(window.button("OK"));
    save_as(&mut window, &old);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), written);
    window.click(window.button("Replace"));
    window.wait("the file replaced", |_| {
        (std::fs::read_to_string(&old).unwrap() == edited).then_some(())
    });
}

#[test]
fn one_of_a_thousand_gpus_groups_is_dragged() {
    let mut window = Window::open(project::example("colocated-1024-gpus").unwrap());
    let before = window.app().project().designs[0].cluster.groups[0].position;
    let from = window.place("node su0");
    window.harness.hover_at(from);
    window.harness.step();
    window.press(from, true);
    for step in 1..=40u8 {
        let moved = egui::vec2(2.0 * f32::from(step), f32::from(step));
        window.harness.hover_at(from + moved);
        window.harness.step();
    }
    window.press(from + egui::vec2(80.0, 40.0), false);
    window.harness.step();
    let after = window.app().project().designs[0].cluster.groups[0].position;
    assert!(
        after.x > before.x && after.y > before.y,
        "{before:?} {after:?}"
    );
}

/// The cost page says what the library computes, before and after a price is typed.
#[test]
fn the_cost_page_shows_the_librarys_numbers() {
    let mut window = Window::example();
    let tab = window.harness.get_by_role_and_label(Access::Tab, "Cost");
    let tab = tab.rect().center();
    window.click(tab);
    // Of the design's own model, on its own GPU.
    let said = |w: &Window| -> (f64, f64) {
        let table = w.app().cost_table().expect("the page is open");
        let (model, gpu) = (&table.models[0], &table.hardware[0]);
        let computed = model.costs[0][0].attention().get();
        let label = format!("{} on {}: attention at 8K, ", model.name, gpu.name);
        let cell = w.harness.get_by_label_contains(&label);
        let node = cell.accesskit_node();
        // What a label says is its value.
        let spoken = node.value().or_else(|| node.label()).unwrap_or_default();
        let shown = spoken.rsplit(' ').next().unwrap().parse().unwrap();
        (shown, computed)
    };
    let (shown, before) = said(&window);
    assert!((shown - before).abs() <= 0.0005, "{shown} {before}");

    let price = window
        .harness
        .get_by_role_and_label(Access::TextInput, "H800 SXM")
        .rect();
    window.click(price.center());
    window.type_anew("4");
    let (shown, after) = said(&window);
    assert!((shown - after).abs() <= 0.0005, "{shown} {after}");
    assert!(
        (after / before - 2.0).abs() < 1e-9,
        "twice the price, twice the cost"
    );

    // Every view draws.
    for page in ["By context", "Roofline", "Sparsity", "Network"] {
        let at = window.harness.get_by_role_and_label(Access::Tab, page);
        let at = at.rect().center();
        window.click(at);
        window.harness.get_by_role_and_label(Access::Tab, page);
    }
    let rates = window
        .harness
        .query_all_by_label_contains("each FFN GPU needs");
    assert!(rates.count() >= 2, "a rate for every context");
}

/// Without `max_position_embeddings`: something has to be assumed.
const CONFIG: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": false, "hidden_act": "silu", "a_new_key": 1,
    "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic",
        "weight_block_size": [128, 128]}}"#;

#[test]
fn a_model_is_found_by_typing_and_chosen_by_enter() {
    let mut window = Window::example();
    let before = window.app().project().designs[0].model.clone();
    let combo = |w: &Window| {
        let found = w.harness.get_by_role_and_label(Access::ComboBox, "Model");
        found.rect().center()
    };
    let at = combo(&window);
    window.click(at);
    window.type_anew("oss 120");
    let serves = |w: &Window| w.app().project().designs[0].model.clone();
    assert_eq!(
        serves(&window),
        ModelRef::Preset(ModelId::from_label("gpt-oss-120b"))
    );
    // The next search starts anew, and Escape leaves what is served alone.
    let at = combo(&window);
    window.click(at);
    window.harness.get_by_label("Qwen3-32B, 32.8 B");
    window.harness.key_press(egui::Key::Escape);
    window.settle();
    assert_eq!(
        serves(&window),
        ModelRef::Preset(ModelId::from_label("gpt-oss-120b"))
    );
    assert_ne!(serves(&window), before);
}

#[test]
fn escape_closes_a_menu_or_leaves_a_field_before_it_deselects() {
    let mut window = Window::example();
    let pool = window.button("Pool Prefill");
    window.click(pool);
    let selected = |w: &Window| w.app().selection().items.first().cloned();
    let prefill = selected(&window);
    assert!(matches!(prefill, Some(Item::Pool(_))), "{prefill:?}");
    let places = [(Access::ComboBox, "TP"), (Access::TextInput, "Name")];
    for (role, label) in places {
        let found = window.harness.get_by_role_and_label(role, label);
        let at = found.rect().center();
        window.click(at);
        window.harness.key_press(egui::Key::Escape);
        window.settle();
        assert_eq!(selected(&window), prefill, "Escape in {label}");
    }
    window.harness.key_press(egui::Key::Escape);
    window.settle();
    assert_eq!(selected(&window), None);
}

#[test]
fn a_dropped_config_is_shown_served_and_undone() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("Llama-Mine");
    std::fs::create_dir(&folder).unwrap();
    let config = folder.join("config.json");
    std::fs::write(&config, CONFIG).unwrap();
    let mut window = Window::example();
    let first = window.text();

    window.drop_files(&[&config]);
    window.wait_for_label("Serve it in A");
    window.wait_for_label("ax_position_embeddings is missing");
    window.wait_for_label("a_new_key");
    window.wait_for_label("32 heads, 8 KV heads of 128");
    assert_eq!(window.text(), first, "nothing is changed by looking");
    window.click_label("Serve it in A");
    let design = window.app().design();
    let frontier::plan::ModelRef::Inline(model) = &design.model else {
        panic!("the model is in the document");
    };
    assert_eq!(model.name, "Llama-Mine");
    assert!(model.assumptions[0].contains("max_position_embeddings"));
    let fp8 = frontier::catalog::Dtype::Fp8;
    assert!(design.pools.iter().all(|p| p.precision.weights == fp8));
    let served = window.text();
    assert!(frontier::project::parse(&served, "served").unwrap() == *window.app().project());

    // What was assumed stays with the model.
    let tab = window.harness.get_by_role_and_label(Access::Tab, "Model");
    window.click(tab.rect().center());
    window.wait_for_label("Taken for granted when it was imported");
    let strip = window
        .harness
        .query_by_role_and_label(Access::Image, "32 layers");
    assert!(strip.is_some(), "the layer stack is drawn");

    assert!(window.undo());
    assert_eq!(window.text(), first, "to the byte");
}

#[test]
fn a_broken_config_is_explained_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    let broken = CONFIG.replace("\"hidden_size\": 4096", "\"hidden_size\": \"4096\"");
    std::fs::write(&config, broken).unwrap();
    let mut window = Window::example();
    let first = window.text();
    window.drop_files(&[&config]);
    window.wait_for_label("This file can't be imported");
    window.wait_for_label("idden_size is the text");
    window.click(window.button("OK"));
    assert_eq!(window.text(), first);
}

#[test]
fn a_model_is_kept_as_a_preset_and_never_replaced_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("mine.json");
    std::fs::write(&config, CONFIG).unwrap();
    let presets = dir.path().join("presets");
    let home = presets.clone();
    let harness = Harness::builder()
        .with_size([1600.0, 1100.0])
        .with_max_steps(60)
        .build_eframe(|cc| {
            let options = frontier::app::AppOptions {
                project: Some((None, project::example(FIRST_EXAMPLE).unwrap())),
                presets_home: Some(home),
                ..Default::default()
            };
            let loaded = frontier::app::Presets {
                catalog: Arc::new(frontier::catalog::Catalog::load(None).unwrap()),
                models: Arc::new(frontier::model::Models::load(None).unwrap()),
            };
            App::new(&cc.egui_ctx, options, loaded)
        });
    let mut window = Window { harness };
    window.settle();
    let kept = presets.join("models/mine.ron");
    window.drop_files(&[&config]);
    window.wait_for_label("Keep as preset");
    window.click(window.button("Keep as preset"));
    window.wait_for_label("Kept as");
    std::fs::write(&kept, std::fs::read_to_string(&kept).unwrap() + "// mine\n").unwrap();
    window.harness.key_press(egui::Key::Escape);
    window.settle();

    window.drop_files(&[&config]);
    window.wait_for_label("Keep as preset");
    window.click(window.button("Keep as preset"));
    window.wait_for_label("is a preset already");
    assert!(std::fs::read_to_string(&kept).unwrap().contains("// mine"));
    window.click(window.button("Replace preset"));
    window.wait_for_label("Kept as");
    assert!(!std::fs::read_to_string(&kept).unwrap().contains("// mine"));
    window.harness.key_press(egui::Key::Escape);
    window.settle();

    // One of ours is not put in the shade unasked either.
    let ours = dir.path().join("qwen3-8b.json");
    std::fs::write(&ours, CONFIG).unwrap();
    window.drop_files(&[&ours]);
    window.wait_for_label("Keep as preset");
    window.click(window.button("Keep as preset"));
    window.wait_for_label("is a preset already");
    assert!(!presets.join("models/qwen3-8b.ron").exists());
}

#[test]
fn the_breakdown_says_what_the_run_says() {
    let mut project = project::example(FIRST_EXAMPLE).unwrap();
    project.workload.requests = 100;
    project.curve.loads = vec![10.0, 20.0];
    let mut window = Window::open(project);
    let curve = window.curve();
    let tab = window
        .harness
        .get_by_role_and_label(Access::Tab, "Breakdown");
    let tab = tab.rect().center();
    window.click(tab);
    // At the highest load that is served.
    let point = curve.iter().rfind(|point| !point.summary.saturated);
    let summary = &point.unwrap().summary;
    window.harness.get_by_label("What limits it");
    let limit = summary.limits[0].text.replace(" %", "\u{a0}%");
    window.harness.get_by_label(&limit);
    for pool in &summary.breakdown {
        let phase = pool.phases.iter().find(|phase| phase.steps > 0).unwrap();
        let (_, seconds) = phase.by_class[0];
        let share = format!("{:.1} %", seconds / pool.seconds * 100.0);
        assert!(
            window.harness.query_all_by_label(&share).count() > 0,
            "{share}"
        );
    }
}
