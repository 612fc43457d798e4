import process from "node:process";
import { createApp } from "../../app/app.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { configOfSource } from "../database/command_config.ts";
import type { SearchCommand } from "../command_arguments.ts";
import type { ReindexProgress } from "../../search/search_indexes.ts";

export async function runSearchCommand(command: SearchCommand): Promise<number> {
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
}

const width = 30;

export class ProgressBar {
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #indexes = new Map<string, boolean>();

  get count(): number {
    return this.#indexes.size;
  }

  show({ index, done, total, isDone }: ReindexProgress): void {
    this.#indexes.set(index, isDone);
    const share = total === 0 ? 1 : done / total;
    if (this.#isTerminal) {
      const bar = "█".repeat(Math.floor(share * width)).padEnd(width, "░");
      this.#write(`\r${index} ${bar} ${Math.floor(share * 100)} % ${done} of ${total} rows`);
      if (isDone) this.#write("\n");
    } else if (isDone) this.#write(`${index}: ${done} rows\n`);
  }

  end(): void {
    if (this.#isTerminal && [...this.#indexes.values()].includes(false)) this.#write("\n");
  }

  #write(text: string): void {
    process.stderr.write(text);
  }
}
