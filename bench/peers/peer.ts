import { rowsInTurn } from "../note_requests.ts";

/** A service that users could choose instead of this one, as `peers_bench.ts` runs it. */
export interface Peer {
  readonly name: string;
  /** The highest wanted ratio of the service's processor time per request to that of this peer. */
  readonly mostCost?: Partial<Record<Operation, number>>;
  /** Installs the peer if it is missing, and prepares its database in `folder`. */
  prepare(place: PeerPlace): Promise<PreparedPeer>;
}

/** The folders, data and port of a peer. */
export interface PeerPlace {
  /** The folder for its programs, kept between runs. */
  readonly programs: string;
  /** The folder for its data, of one run. */
  readonly data: string;
  /** A filled SQLite file with the table of `notes_database.ts`. */
  readonly notes: string;
  /** The port of 127.0.0.1 at which the peer must listen. */
  readonly port: number;
}

/** A peer that can be started, with the same rows as all other peers. */
export interface PreparedPeer {
  readonly version: string;
  /** The command that starts the peer's server. */
  readonly command: readonly [program: string, ...args: readonly string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly requests: PeerRequests;
}

/** The measured requests. */
export type Operation = "get" | "list" | "create" | "patch";

/** The requests of the benchmark in the syntax of this peer. */
export interface PeerRequests {
  /** Reads one row by its key. */
  readonly get: PeerRequest;
  /** Lists the first 20 rows with a status and above a rank, in the order of rank. */
  readonly list: PeerRequest;
  /** Creates one row. The response contains the row, or what `readCreated` needs. */
  readonly create: PeerRequest;
  /** Returns the request that reads a created row. Absent if `create` returns the row. */
  readonly readCreated?: (response: string) => PeerRequest;
  /** Changes the title of a row. Fails if the row has another version. Absent if unsupported. */
  readonly patch?: PeerRequest;
}

/** A request that is sent repeatedly. */
export interface PeerRequest {
  /** The status that every response must have. */
  readonly status: number;
  /** Returns the request as it is sent. `turn` counts the requests. */
  text(turn: number): string;
}

/** The number of rows, whose keys are 1 to this number. */
export const rowCount = 100_000;

/** Returns the key of a row, a different key in each turn. */
export function keyOf(turn: number): number {
  return 1 + turn * 7919 % rowCount;
}

/** Returns a rank that some rows exceed. */
export function rankOf(turn: number): number {
  return turn % 900;
}

/** Returns a row to create, without its version and its time. */
export function noteOf(turn: number) {
  return {
    ownerId: "user-1",
    title: `A note, ${turn}`,
    body: "Some text",
    status: "published",
    rank: 7,
  };
}

/** Returns GET requests for paths. Each of the `headers` ends with a line break. */
export function getRequests(pathOf: (turn: number) => string, headers = ""): PeerRequest {
  return {
    status: 200,
    text: (turn) => `GET ${pathOf(turn)} HTTP/1.1\r\nhost: bench\r\n${headers}\r\n`,
  };
}

/** Returns POST requests with rows as JSON. */
export function postRequests(
  path: string,
  rowOf: (turn: number) => unknown,
  { status = 201, headers = "" }: { readonly status?: number; readonly headers?: string } = {},
): PeerRequest {
  return { status, text: (turn) => withJson("POST", path, headers, rowOf(turn)) };
}

/** Returns PATCH requests for all rows in rotation, each with the current version of its row. */
export function patchRequests(
  spell: (
    row: number,
    version: number,
  ) => { readonly path: string; readonly headers: string; readonly body: unknown },
): PeerRequest {
  const nextRow = rowsInTurn(rowCount);
  return {
    status: 200,
    text: () => {
      const { row, version } = nextRow();
      const { path, headers, body } = spell(row, version);
      return withJson("PATCH", path, headers, body);
    },
  };
}

function withJson(method: string, path: string, headers: string, body: unknown): string {
  const json = JSON.stringify(body);
  return `${method} ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
    `content-length: ${json.length}\r\n${headers}\r\n${json}`;
}
