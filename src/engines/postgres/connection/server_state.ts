import { DatabaseError } from "../../../db/database_error.ts";
import { refuse, type ServerState } from "./keywords.ts";

const formats = { IntervalStyle: "postgres", bytea_output: "hex", extra_float_digits: "1" };

export function stateText(state: ServerState, isPooled: boolean): string {
  if (state === "any" && !isPooled) return "SELECT 1";
  const settings = ["transaction_read_only", ...Object.keys(formats)];
  const values = settings.map((name) => `pg_catalog.current_setting('${name}')`);
  return `SELECT pg_catalog.pg_is_in_recovery(), ${values}`;
}

/**
 * Throws if the server is not in `state`, or if it formats values in an unexpected way. `ofSession`
 * is true if the service itself made the session read-only.
 */
export function requireState(
  state: ServerState,
  [isStandby, isReadOnly, ...formatted]: readonly (string | null)[],
  ofSession: boolean,
): void {
  for (const [at, [name, value]] of Object.entries(formats).entries()) {
    if (formatted.length === 0 || formatted[at] === value) continue;
    const remedy = `set it for the role, ALTER ROLE … SET ${name} = '${value}'`;
    refuse(`the sessions of the pooler have ${name} = ${formatted[at]}: ${remedy}`);
  }
  const standby = isStandby === "t";
  const readOnly = standby || isReadOnly === "on" && !ofSession;
  const accepted: Readonly<Record<ServerState, boolean>> = {
    ...{ any: true, "read-write": !readOnly, "read-only": readOnly, primary: !standby },
    ...{ standby, "prefer-standby": standby },
  };
  if (accepted[state]) return;
  const found = standby ? "a standby" : readOnly ? "read-only" : "a primary";
  const cause = new Error(`the server is ${found}, and target_session_attrs is ${state}`);
  throw new DatabaseError("unavailable", cause);
}

export function pooledServer(error: unknown): Error | null {
  const isRefusal = error instanceof Error && "code" in error && error.code === "08P01" &&
    error.message.includes("startup parameter");
  return !isRefusal ? null : new Error(
    `Cannot open the database: this is a pooler (${error.message}). Open the server with ` +
      "{ primary: URL, pooler: URL } or --pooler URL, or add prepare=false to the URL",
  );
}
