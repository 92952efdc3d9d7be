//! The smallest server: policies from the directory named first, on the address named second.
//!
//! ```sh
//! cargo run -p durward-server --example serve -- policies 127.0.0.1:8080
//! ```

use std::sync::Arc;

use durward_server::{Server, Settings, start_log};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let mut settings = Settings::default();
    if let Some(path) = arguments.next() {
        settings.policies.path = path.into();
    }
    if let Some(address) = arguments.next() {
        settings.server.listen = address.parse()?;
    }
    if let Some(workers) = arguments.next() {
        settings.server.workers = workers.parse()?;
    }
    start_log(&settings.log)?;
    #[expect(clippy::disallowed_methods, reason = "a program is where the clock comes from")]
    let clock = Arc::new(std::time::SystemTime::now);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(settings, clock)?;
        server.serve(std::future::pending()).await?;
        Ok(())
    })
}
