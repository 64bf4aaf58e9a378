//! Engines on the command line: settings given instead of a project's, and those that are not as an
//! engine starts.

use super::{Failure, print};
use crate::catalog::{Catalog, Gpu};
use crate::cluster::{Topology, unfold};
use crate::plan::{Design, Difference, Engine, Pool};
use crate::project::Project;
use serde_json::{Value, json};

/// Sets what `--set POOL.SETTING=VALUE` says, in every design that has the pool; `*` is any pool.
pub(super) fn set(
    project: &mut Project,
    design: Option<&str>,
    settings: &[String],
) -> Result<(), Failure> {
    for text in settings {
        let wrong = || {
            Failure::Usage(format!(
                "--set {text}: write POOL.SETTING=VALUE, as in serve.max_num_seqs=256; * is any pool"
            ))
        };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let (pool, setting) = name.split_once('.').ok_or_else(wrong)?;
        let mut found = false;
        let designs = project.designs.iter_mut();
        for design in designs
            .filter(|own| design.is_none_or(|name| own.id.as_str() == name || own.name == name))
        {
            let pools = design.pools.iter_mut();
            for own in
                pools.filter(|own| pool == "*" || own.id.as_str() == pool || own.name == pool)
            {
                found = true;
                own.engine
                    .set(setting, value)
                    .map_err(|error| Failure::Usage(format!("--set {text}: {error}")))?;
            }
        }
        if !found {
            let known: Vec<&str> = project
                .designs
                .iter()
                .flat_map(|design| &design.pools)
                .map(|pool| pool.id.as_str())
                .collect();
            return Err(Failure::Usage(format!(
                "--set {text}: there is no pool “{pool}”; there are {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// The GPU of a pool as drawn.
fn gpu<'a>(topology: &'a Topology, pool: &Pool) -> Option<&'a Gpu> {
    let first = pool.gpus.first()?.iter().next()?;
    let ix = topology.find(&first)?;
    Some(&topology.gpu(ix).gpu)
}

/// What an engine of that kind and version starts with on the pool's GPUs.
fn defaults(topology: &Topology, pool: &Pool) -> Option<Engine> {
    let engine = &pool.engine;
    let gpu = gpu(topology, pool)?;
    Some(Engine::defaults_of(
        engine.kind,
        &engine.version,
        gpu,
        pool.layout,
    ))
}

/// Gives every pool the loop its engine starts with; budgets and memory stay as they are.
pub(super) fn start_loops(design: &mut Design, catalog: &Catalog) {
    let (topology, _) = unfold(&design.cluster, catalog);
    for pool in &mut design.pools {
        if let Some(own) = defaults(&topology, pool) {
            pool.engine.scheduling = own.scheduling;
            pool.engine.host = own.host;
            pool.engine.graphs = own.graphs;
            pool.engine.caching = own.caching;
        }
    }
}

/// Each pool with what is not as its engine starts.
pub(super) fn differences<'a>(
    design: &'a Design,
    catalog: &Catalog,
) -> Vec<(&'a Pool, Vec<Difference>)> {
    let (topology, _) = unfold(&design.cluster, catalog);
    let found = design.pools.iter().filter_map(|pool| {
        let own = defaults(&topology, pool)?;
        Some((pool, pool.engine.differences(&own)))
    });
    found.collect()
}

/// Prints them, a line a pool.
pub(super) fn print_differences(design: &Design, catalog: &Catalog) {
    for (pool, found) in differences(design, catalog) {
        let words: Vec<String> = found
            .iter()
            .map(|own| {
                format!(
                    "{} {} (starts with {})",
                    own.word,
                    print::plain(&own.value),
                    own.default
                )
            })
            .collect();
        let what = if words.is_empty() {
            "as it starts".to_owned()
        } else {
            words.join(", ")
        };
        say!(
            "  engine of {}: {} {}, {what}",
            pool.id,
            pool.engine.kind.name(),
            print::plain(&pool.engine.version)
        );
    }
}

/// The same as JSON.
pub(super) fn to_json(design: &Design, catalog: &Catalog) -> Vec<Value> {
    let found = differences(design, catalog).into_iter();
    found
        .map(|(pool, found)| {
            json!({
                "pool": pool.id.as_str(),
                "engine": pool.engine.kind.name(),
                "version": pool.engine.version,
                "differences": found.iter().map(|own| json!({
                    "setting": own.word, "value": own.value, "default": own.default,
                })).collect::<Vec<_>>(),
            })
        })
        .collect()
}
