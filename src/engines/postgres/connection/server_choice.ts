import { DatabaseError, reasonOf } from "../../../db/database_error.ts";
import { toPostgresError } from "../driver/postgres_errors.ts";
import { type ConnectionPlan, isTlsFailure } from "./connection_plan.ts";
import type { PostgresServer, ServerState } from "./keywords.ts";

export interface Attempt {
  readonly server: PostgresServer;
  readonly isEncrypted: boolean;
  readonly state: ServerState;
}

/** Chooses the next server. To keep a process on one server, tries the last used server first. */
export class ServerChoice {
  readonly #plan: ConnectionPlan;
  readonly #states: readonly ServerState[];
  #preferred: PostgresServer | null = null;
  /** Functions to call when new connections may use another server than existing connections. */
  readonly onMove = new Set<() => void>();

  constructor(plan: ConnectionPlan, readOnly: boolean) {
    this.#plan = plan;
    // If the URL names several servers and no state, a writing service needs the primary.
    const state = plan.state ?? (plan.servers.length > 1 && !readOnly ? "read-write" : "any");
    this.#states = state === "prefer-standby" ? ["standby", "any"] : [state];
  }

  /** Tries servers until `connect` succeeds. As in libpq, a wrong password ends the attempts. */
  async open(connect: (attempt: Attempt) => Promise<void>): Promise<void> {
    const failures: (readonly [Attempt, unknown])[] = [];
    for (const attempt of this.#attempts()) {
      const [last, reason] = failures.at(-1) ?? [];
      const isSame = last?.server === attempt.server && last.state === attempt.state;
      if (isSame && !rejectsEncryption(reason)) continue;
      try {
        await connect(attempt);
        const hasMoved = ![null, attempt.server].includes(this.#preferred);
        this.#preferred = attempt.server;
        if (hasMoved) this.move();
        return;
      } catch (error) {
        if (!rejectsEncryption(error) && !isUnavailable(error)) throw error;
        failures.push([attempt, error]);
      }
    }
    const [[, only] = [], ...more] = failures;
    if (more.length === 0) throw only;
    const reasons = failures.map(([{ server: { host, port } }, error]) =>
      `${host}:${port}: ${error instanceof DatabaseError ? reasonOf(error) : error}`
    );
    const all = new Error(reasons.join("; "), { cause: only });
    const areUnavailable = failures.every(([, error]) => isUnavailable(error));
    throw areUnavailable ? new DatabaseError("unavailable", all) : all;
  }

  move(): void {
    for (const moved of this.onMove) moved();
  }

  #attempts(): readonly Attempt[] {
    const { servers, tls } = this.#plan;
    const first = servers.filter((server) => server === this.#preferred);
    const order = new Set([...first, ...servers]);
    return this.#states.flatMap((state) =>
      [...order].flatMap((server) =>
        encryptions(server, tls.mode).map((isEncrypted) => ({ server, isEncrypted, state }))
      )
    );
  }
}

/** Returns, for each attempt, whether it uses TLS. A Unix socket needs no TLS. */
function encryptions({ path }: PostgresServer, mode: string): readonly boolean[] {
  if (path !== null || mode === "disable") return [false];
  return mode === "allow" ? [false, true] : mode === "prefer" ? [true, false] : [true];
}

function rejectsEncryption(error: unknown): boolean {
  return isTlsFailure(error) || error instanceof Error && "code" in error && error.code === "28000";
}

function isUnavailable(error: unknown): boolean {
  const known = toPostgresError(error, "read");
  return known instanceof DatabaseError && known.kind === "unavailable";
}
