export const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

const tlsVersions = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

const states = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"] as const;
export type ServerState = typeof states[number];

export type Lookup = (name: string) => string | undefined;

export interface PostgresServer {
  /** The name or address in messages, and the name that a certificate must have. */
  readonly host: string;
  /** The name or address to connect to. */
  readonly address: string;
  readonly port: number;
  readonly path: string | null;
}

const unicode = ["auto", "utf8", "UTF8", "utf-8", "UTF-8", "unicode", "UNICODE"];
const ofServer = "its library authenticates by the method that the server asks for";

/** The accepted values of each parameter, null for any value, or why the parameter is refused. */
export const keywords: Readonly<Record<string, readonly string[] | string | null>> = {
  ...{ host: null, hostaddr: null, port: null, dbname: null, user: null, password: null },
  ...{ passfile: null, service: null, servicefile: null, options: null, connect_timeout: null },
  ...{ application_name: null, fallback_application_name: null, client_encoding: unicode },
  ...{ target_session_attrs: states, load_balance_hosts: ["disable"] },
  ...{ sslmode: tlsModes, sslnegotiation: ["postgres"], sslsni: ["0", "1"] },
  ...{ sslrootcert: null, sslcert: null, sslkey: null, sslpassword: null, sslcrl: [] },
  ...{ sslcertmode: ["disable", "allow"], sslcrldir: [], sslcompression: ["0"], sslkeylogfile: [] },
  ...{ ssl_min_protocol_version: tlsVersions, ssl_max_protocol_version: tlsVersions },
  ...{ require_auth: ofServer, channel_binding: ["disable", "prefer", "require"] },
  ...{ scram_client_key: [], scram_server_key: [], keepalives: ["0", "1"], keepalives_idle: null },
  ...{ keepalives_interval: ["0"], keepalives_count: ["0"], tcp_user_timeout: ["0"] },
  ...{ requirepeer: [], gssencmode: ["disable", "prefer"], krbsrvname: null, gsslib: null },
  ...{ gssdelegation: null, replication: ["0", "off", "false", "no"] },
  ...{ min_protocol_version: ["3.0"], max_protocol_version: ["3.0", "3.2", "latest"] },
  ...{ pooler: null, replicas: null, prepare: ["true", "false"], search_path: null },
};

/** The environment variables with irregular names, by parameter. Null if there is no variable. */
const variables: Readonly<Record<string, string | null>> = {
  ...{ dbname: "PGDATABASE", application_name: "PGAPPNAME", connect_timeout: "PGCONNECT_TIMEOUT" },
  ...{ fallback_application_name: null, client_encoding: null, sslpassword: null, pooler: null },
  replicas: null,
  ...{ prepare: null, search_path: null, replication: null, keepalives: null },
};

export function variableOf(name: string): string | null {
  const variable = variables[name];
  return variable === undefined ? `PG${name.replaceAll("_", "").toUpperCase()}` : variable;
}

export function complete(parameters: Map<string, string>, environment: Lookup): void {
  for (const name of Object.keys(keywords)) {
    const variable = variableOf(name);
    const value = variable === null ? "" : environment(variable) ?? "";
    if (value !== "" && !parameters.has(name)) parameters.set(name, value);
  }
  for (const [name, value] of parameters) {
    const values = keywords[name] ?? null;
    if (typeof values === "string") refuse(`the service does not support ${name}: ${values}`);
    if (values === null || values.includes(value)) continue;
    if (values.length === 0) refuse(`the service does not support ${name}`);
    refuse(`${name} must be ${values.join(", ").replace(/, ([^,]*)$/, " or $1")}`);
  }
}

/** Throws an Error. The reason must contain no parameter's value, because values may be secret. */
export function refuse(reason: string): never {
  throw new Error(`Cannot open the database: ${reason}`);
}
