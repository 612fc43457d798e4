/** A service that others would choose in place of this one, as `peers_bench.ts` runs it. */
export interface Peer {
  readonly name: string;
  /** Installs it, unless it is there, and prepares its database in `folder`. */
  prepare(folder: PeerFolder): Promise<PreparedPeer>;
}

/** The folders of a peer. */
export interface PeerFolder {
  /** For its programs, kept between runs. */
  readonly programs: string;
  /** For its data, of one run. */
  readonly data: string;
  /** A SQLite file with the table of `notes_database.ts`, filled. */
  readonly notes: string;
}

/** A peer that can be started, with the same rows as all others. */
export interface PreparedPeer {
  readonly version: string;
  /** The command of its server, which listens on `port` of 127.0.0.1. */
  readonly command: readonly [program: string, ...args: readonly string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly port: number;
  readonly requests: PeerRequests;
}

/** The requests of the benchmark, as this peer spells them; bytes on the wire. */
export interface PeerRequests {
  /** One row by its key. */
  get(turn: number): PeerRequest;
  /** The first 20 rows with a status and over a rank, in the order of rank. */
  list(turn: number): PeerRequest;
  /** One new row, which the answer shows. */
  create(turn: number): PeerRequest;
}

/** A request, and the status that its answer must have. */
export interface PeerRequest {
  readonly text: string;
  readonly status: number;
}

/** How many rows there are: keys are 1 to this. */
export const rowCount = 100_000;

/** A key of a row, another one each time. */
export function keyOf(turn: number): number {
  return 1 + turn * 7919 % rowCount;
}

/** A rank over which there are rows. */
export function rankOf(turn: number): number {
  return turn % 900;
}

/** A GET on the wire. */
export function getRequest(path: string, headers = ""): PeerRequest {
  return { text: `GET ${path} HTTP/1.1\r\nhost: bench\r\n${headers}\r\n`, status: 200 };
}

/** A POST of JSON on the wire. */
export function postRequest(
  path: string,
  body: unknown,
  { status = 201, headers = "" }: { readonly status?: number; readonly headers?: string } = {},
): PeerRequest {
  const json = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
    `content-length: ${json.length}\r\n${headers}`;
  return { text: `${head}\r\n${json}`, status };
}

/** Runs a command to its end. Throws with what it printed where it fails. */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, ...options })
    .output();
  const printed = new TextDecoder().decode(stdout);
  if (success) return printed;
  throw new Error(`${program} ${args.join(" ")}: ${printed}${new TextDecoder().decode(stderr)}`);
}

/** Whether a path is there. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Resolves when something accepts connections on this port. Throws after half a minute. */
export async function untilListening(port: number): Promise<void> {
  const giveUpAt = performance.now() + 30_000;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused) || performance.now() > giveUpAt) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
