import { createApp } from "../../app/app.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { configOfSource } from "../database/command_config.ts";
import { reportFailure } from "../report_failure.ts";
import { ProgressBar } from "./progress_bar.ts";
import type { SearchCommand } from "./search_arguments.ts";

/** Runs the command that indexes all rows again, and returns the exit code. */
export async function runSearchCommand(command: SearchCommand): Promise<number> {
  try {
    const app = await createApp(
      await configOfSource(command, systemRuntime(consoleObserver()), true),
    );
    const bar = new ProgressBar();
    try {
      await app.reindex({ onProgress: (progress) => bar.show(progress) });
    } finally {
      bar.end();
      await app.close();
    }
    if (bar.count > 0) return 0;
    throw new Error("There is nothing to index: no resource has a search index");
  } catch (error) {
    return reportFailure(error, 2);
  }
}
