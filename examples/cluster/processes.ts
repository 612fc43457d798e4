/** A program of the machine. */
export interface Program {
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

type Place = Pick<Deno.CommandOptions, "cwd" | "env" | "uid" | "gid">;

interface Running {
  readonly process: Deno.ChildProcess;
  readonly ended: Promise<unknown>;
}

/** The processes that were started, each with a name. Their messages are in files. */
export class Processes implements AsyncDisposable {
  readonly #folder: string;
  readonly #running = new Map<string, Running>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  start(name: string, program: Program, args: readonly string[], place: Place): void {
    const process = new Deno.Command(program.path, {
      ...place,
      args: [...args],
      env: { NO_COLOR: "1", ...program.env, ...place.env },
      ...{ stdin: "null", stdout: "null", stderr: "piped" },
    }).spawn();
    const log = Deno.openSync(`${this.#folder}/${name}.log`, { append: true, create: true });
    const ended = Promise.all([process.status, process.stderr.pipeTo(log.writable)]);
    this.#running.set(name, { process, ended });
  }

  /** Runs a program to its end. */
  async run(program: Program, args: readonly string[], place: Place): Promise<void> {
    const command = new Deno.Command(program.path, {
      ...place,
      args: [...args],
      env: { ...program.env, ...place.env },
      ...{ stdin: "null", stdout: "null", stderr: "piped" },
    });
    const { success, stderr } = await command.output();
    if (!success) throw new Error(`${program.path}: ${new TextDecoder().decode(stderr)}`);
  }

  signal(name: string, signal: Deno.Signal): void {
    this.#running.get(name)?.process.kill(signal);
  }

  /** Sends a signal that ends a process, and waits for its end. */
  async stop(name: string, signal: Deno.Signal): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    try {
      running.process.kill(signal);
    } catch (error) {
      // The process has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await running.ended;
  }

  /** Ends all processes, the last one first. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#running.keys()].reverse()) await this.stop(name, "SIGINT");
  }
}
