//! Serves a folder with TrailBase: `trailbase-peer FOLDER ADDRESS [no-log]`.

use tracing::subscriber::{NoSubscriber, set_default};
use trailbase::{DataDir, Server, ServerOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("The folder is missing")?;
    let address = args.next().ok_or("The address is missing")?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all();
    if args.next().is_some() {
        // TrailBase has no option without its log. Its log is the subscriber of the process, and a
        // subscriber of a thread precedes the subscriber of the process.
        runtime.on_thread_start(|| std::mem::forget(set_default(NoSubscriber::new())));
    }
    let data_dir = DataDir(folder.into());
    let options = ServerOptions { data_dir, address, ..Default::default() };
    runtime.build()?.block_on(async { Server::init(options).await?.serve().await })
}
