import type { Clock } from "../../../runtime/runtime.ts";
import { changingFunctions } from "../connection/session_settings.ts";
import type { PostgresConnection } from "./postgres_connection.ts";

const recheckMs = 1_000;

/**
 * Caches the roles that decide which row policies apply. Calls `onChange` if the server becomes a
 * standby or read-only. Also calls `onChange` if a role loses rights such as `BYPASSRLS`, because
 * connections keep statement plans of the old rights. The pool then replaces its connections.
 */
export class RoleWatch {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #readAtMs = -Infinity;
  #known: string | null = null;
  #knownFunctions: string | null = null;
  hasChangingFunctions = false;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /**
   * Reads the roles on `connection`, even while another connection, which can hang, reads them.
   * Returns null if they were read within the last second. Rejects if `connection` is lost.
   */
  check(connection: PostgresConnection): Promise<void> | null {
    if (this.#clock.elapsedMs() - this.#readAtMs < recheckMs) return null;
    return this.#read(connection);
  }

  async #read(connection: PostgresConnection): Promise<void> {
    const atMs = this.#clock.elapsedMs();
    const [roles = this.#known, functions = null] = await valuesOf(connection, actingRolesText);
    this.#readAtMs = atMs;
    if (functions !== this.#knownFunctions) {
      this.#knownFunctions = functions;
      const [found] = await valuesOf(connection, changingFunctions);
      this.hasChangingFunctions = found === "t";
    }
    if (this.#known !== null && this.#known !== roles) this.#onChange();
    this.#known = roles;
  }
}

async function valuesOf(
  connection: PostgresConnection,
  text: string,
): Promise<readonly (string | null)[]> {
  try {
    const { rows: [row = []] } = await connection.run(text, []);
    return row;
  } catch (error) {
    if (connection.lost) throw error;
    // A server that only imitates Postgres can lack the catalogs.
    return [];
  }
}

/**
 * Reads the roles whose rights can apply to statements, such as the current role and the owners of
 * views and of functions with `SECURITY DEFINER`. The first value contains the server's state, and
 * the roles' attributes and memberships. The second value changes if any function changes.
 */
const actingRolesText = `WITH
  acting AS (SELECT oid FROM pg_roles WHERE rolname = current_user
    UNION SELECT r.oid FROM pg_roles r JOIN pg_roles login ON login.rolname = current_user
      WHERE NOT login.rolsuper AND pg_has_role(login.oid, r.oid, 'MEMBER')
    UNION SELECT relowner FROM pg_class WHERE relkind = 'v'
    UNION SELECT proowner FROM pg_proc WHERE prosecdef
    UNION SELECT r.oid FROM pg_proc, unnest(proconfig) AS setting
      JOIN pg_roles r ON setting = 'role=' || r.rolname),
  named AS (SELECT unnest(polroles) AS oid FROM pg_policy
    UNION SELECT relowner FROM pg_class WHERE relrowsecurity)
  SELECT concat_ws(' ', pg_is_in_recovery(), current_setting('transaction_read_only'),
    string_agg(concat_ws(' ', r.oid, r.rolsuper, r.rolbypassrls,
    (SELECT string_agg(n.oid::text, ' ' ORDER BY n.oid) FROM named n
     WHERE n.oid <> 0 AND pg_has_role(r.oid, n.oid, 'USAGE'))), ',' ORDER BY r.oid)),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_proc)
  FROM pg_roles r WHERE r.oid IN (SELECT oid FROM acting)`;
