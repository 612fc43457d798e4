import type { ConnectionOptions } from "node:tls";
import { type ConnectionPlan, readConnectionPlan } from "./connection_plan.ts";
import type { Lookup } from "./keywords.ts";
import { toConnectionUrl } from "./parse_connection_string.ts";

/** The parsed options of postgres.js, or the given options of node-postgres. */
type Options = Readonly<Record<string, unknown>>;

/** Returns the plan of a postgres.js or node-postgres client. Throws for other objects. */
export async function planOfClient(
  client: object,
  environment: Lookup,
): Promise<ConnectionPlan> {
  // The first member is of a postgres.js client or a pool of node-postgres, the second one of a
  // single client of node-postgres. The code below checks every member before its use.
  const { options, connectionParameters } = client as Readonly<Record<string, Options | undefined>>;
  if (typeof options?.connectionString === "string") {
    return await readConnectionPlan(options.connectionString, environment);
  }
  const given = connectionParameters ?? options;
  if (given === undefined) {
    throw new Error("Cannot find the server of this client: it is none of postgres.js or of pg");
  }
  const { host, port, path, database, user, ssl, prepare, pass, password = pass } = given;
  const ownTls = typeof ssl === "object" ? ssl : null;
  const mode = ownTls === null ? "disable" : "require";
  const parameters = new Map<string, string>();
  const found = {
    ...{ host: typeof path === "string" ? path.replace(/\/[^/]*$/, "") : host, port },
    ...{ dbname: database, user },
    // If a client has `prepare: false`, its server is assumed to be a pooler.
    prepare: prepare === false ? "false" : "true",
    sslmode: ssl === true ? "verify-full" : typeof ssl === "string" ? ssl : mode,
    sslrootcert: ssl === true || ssl === "verify-full" ? "system" : null,
    // The client's own option says what is verified, not a variable of the environment.
    channel_binding: "prefer",
  };
  for (const [name, value] of Object.entries(found)) {
    if (value !== undefined && value !== null) parameters.set(name, String(value));
  }
  const plan = await readConnectionPlan(toConnectionUrl(parameters), environment);
  return {
    ...plan,
    async password(server) {
      const value: unknown = typeof password === "function" ? await password() : password;
      return typeof value === "string" && value !== "" ? value : await plan.password(server);
    },
    tls: ownTls === null ? plan.tls : {
      ...plan.tls,
      // The cast is safe: the client's library passes the object to the same function.
      options: async ({ host }) =>
        await Promise.resolve({ host, servername: host, ...(ownTls as ConnectionOptions) }),
    },
  };
}
