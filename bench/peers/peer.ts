import { rowsInTurn } from "../note_requests.ts";

/** A service that others would choose in place of this one, as `peers_bench.ts` runs it. */
export interface Peer {
  readonly name: string;
  /** Installs it, unless it is there, and prepares its database in `folder`. */
  prepare(place: PeerPlace): Promise<PreparedPeer>;
}

/** Where a peer lives. */
export interface PeerPlace {
  /** The folder for its programs, kept between runs. */
  readonly programs: string;
  /** The folder for its data, of one run. */
  readonly data: string;
  /** A SQLite file with the table of `notes_database.ts`, filled. */
  readonly notes: string;
  /** The port of 127.0.0.1 on which its server has to listen. */
  readonly port: number;
}

/** A peer that can be started, with the same rows as all others. */
export interface PreparedPeer {
  readonly version: string;
  /** The command of its server. */
  readonly command: readonly [program: string, ...args: readonly string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly requests: PeerRequests;
}

/** The requests of the benchmark, as this peer spells them. */
export interface PeerRequests {
  /** One row by its key. */
  readonly get: PeerRequest;
  /** The first 20 rows with a status and over a rank, in the order of rank. */
  readonly list: PeerRequest;
  /** One new row, which the answer shows. */
  readonly create: PeerRequest;
  /**
   * A new title of one row, refused where the row has another version than the request names.
   * Absent where the peer has no such request.
   */
  readonly patch?: PeerRequest;
}

/** A request that is sent over and over. */
export interface PeerRequest {
  /** The status that every answer must have. */
  readonly status: number;
  /** The bytes on the wire; `turn` counts up. */
  text(turn: number): string;
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

/** A row to create, without its version and the time. */
export function noteOf(turn: number) {
  return {
    ownerId: "user-1",
    title: `A note, ${turn}`,
    body: "Some text",
    status: "published",
    rank: 7,
  };
}

/** GETs of the paths; `headers` end with a line break each. */
export function getRequests(pathOf: (turn: number) => string, headers = ""): PeerRequest {
  return {
    status: 200,
    text: (turn) => `GET ${pathOf(turn)} HTTP/1.1\r\nhost: bench\r\n${headers}\r\n`,
  };
}

/** POSTs of rows as JSON. */
export function postRequests(
  path: string,
  rowOf: (turn: number) => unknown,
  { status = 201, headers = "" }: { readonly status?: number; readonly headers?: string } = {},
): PeerRequest {
  return { status, text: (turn) => withJson("POST", path, headers, rowOf(turn)) };
}

/** PATCHes of all rows in their turn, with a version that is the row's. */
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
