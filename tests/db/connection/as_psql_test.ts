/** Each form of a connection, with the responses of this driver and of `psql`. */
import { assert, assertEquals } from "@std/assert";
import { DatabaseError, reasonOf } from "../../../src/db/database_error.ts";
import { readConnectionPlan } from "../../../src/engines/postgres/connection/connection_plan.ts";
import { openPlan } from "../../../src/engines/postgres/driver/postgres_js_driver.ts";
import { findProgram } from "../../support/debian_packages.ts";
import { findBinaries } from "../../support/postgres_programs.ts";
import { testPostgres, testUnless } from "../../support/skip.ts";
import { startTlsPostgres, tlsPassword, type TlsPostgres } from "../../support/tls_postgres.ts";

const postgres = testPostgres();
const psql = await findBinaries(["psql"]);
const missing = "missing" in postgres
  ? postgres.missing
  : await findProgram(["openssl"]) === null
  ? "there is no openssl"
  : psql === null
  ? "there is no psql"
  : null;

/** The state of a session: its user, database and application, and whether TLS protects it. */
const stateText = `SELECT concat_ws(' ', current_user, current_database(),
  CASE WHEN ssl THEN version ELSE 'plain' END, current_setting('application_name'),
  current_setting('work_mem'))
  FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;

interface Form {
  readonly text: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The state of the session, or a part of the reason why there is none. */
  readonly expected: string | RegExp;
  /** The first version of `psql` that knows the form. Infinity if it differs on purpose. */
  readonly since?: number;
}

function formsOf({ port, folder }: TlsPostgres): readonly Form[] {
  const at = `127.0.0.1:${port}`;
  const ca = `sslrootcert=${folder}/ca.pem`;
  const password = encodeURIComponent(tlsPassword);
  const hosts = { hostaddr: "127.0.0.1", port: String(port) };
  const variables = (record: Readonly<Record<string, string>>) => ({
    ...Object.fromEntries(
      Object.entries(hosts).map(([name, value]) => [`PG${name.toUpperCase()}`, value]),
    ),
    ...record,
  });
  const plain = "postgres postgres plain resource-api 4MB";
  const tls = "postgres postgres TLSv1.3 resource-api 4MB";
  const scram = "scram_user postgres TLSv1.3 resource-api 4MB";
  const user = `scram_user:${password}@${at}`;
  return [
    // The parts of a URL.
    { text: `postgres://postgres@${at}/postgres`, expected: tls },
    { text: `postgresql://postgres@${at}`, expected: tls },
    { text: `postgres://postgres@${at}/shop%20db%2F1`, expected: /shop db\/1 TLSv1.3/ },
    { text: `postgres://${user}/postgres`, expected: scram },
    { text: `postgres://scram_user:wrong@${at}/postgres`, expected: /password authentication/ },
    { text: `postgres://scram_user@${at}/postgres`, expected: /password/ },
    { text: `postgres://${at}/postgres?user=scram_user&password=${password}`, expected: scram },
    { text: `postgres://postgres@${folder.replaceAll("/", "%2F")}:${port}`, expected: plain },
    { text: `postgres://postgres@:${port}/postgres?host=${folder}`, expected: plain },
    { text: `postgres://postgres@/postgres?host=${folder}&port=${port}`, expected: plain },
    { text: `postgres://postgres@:${port}/?hostaddr=127.0.0.1&host=absent.test`, expected: tls },
    { text: `postgres://postgres@[::1]:1,${at}/postgres`, expected: tls },
    { text: `postgres://postgres@127.0.0.1:1/postgres`, expected: /ECONNREFUSED/ },
    { text: `postgres://postgres@127.0.0.1,127.0.0.1/postgres?port=1,2,3`, expected: /port/ },
    { text: `postgres://postgres@${at}/absent`, expected: /"absent" does not exist/ },
    // Strings of keywords.
    { text: `host=127.0.0.1 port=${port} user=postgres dbname='shop db/1'`, expected: /shop db/ },
    {
      text:
        `host=127.0.0.1 port = ${port} user=scram_user dbname=postgres password='${tlsPassword}'`,
      expected: scram,
    },
    { text: `host=127.0.0.1 user='postgres`, expected: /NAME=VALUE/ },
    // TLS.
    ...["allow", "disable"].map((mode) => ({
      text: `postgres://postgres@${at}?sslmode=${mode}`,
      expected: plain,
    })),
    ...["prefer", "require", "require&channel_binding=prefer"].map((mode) => ({
      text: `postgres://postgres@${at}?sslmode=${mode}`,
      expected: tls,
    })),
    { text: `postgres://postgres@${at}?ssl=true`, expected: tls },
    { text: `postgres://postgres@${at}?sslmode=bogus`, expected: /sslmode must be disable, allow/ },
    { text: `postgres://postgres@${at}?sslmode=verify-full`, expected: /sslrootcert=system/ },
    { text: `postgres://postgres@${at}?sslmode=verify-full&${ca}`, expected: tls },
    { text: `postgres://postgres@${at}?sslmode=verify-ca&${ca}`, expected: tls },
    {
      text: `postgres://postgres@db.test:${port}?hostaddr=127.0.0.1&sslmode=verify-full&${ca}`,
      expected: tls,
    },
    {
      text: `postgres://postgres@localhost:${port}?hostaddr=127.0.0.1&sslmode=verify-full&${ca}`,
      expected: /localhost.*db\.test/,
    },
    {
      text: `postgres://postgres@localhost:${port}?hostaddr=127.0.0.1&sslmode=verify-ca&${ca}`,
      expected: tls,
    },
    ...["require", "verify-ca"].map((mode) => ({
      text: `postgres://postgres@${at}?sslmode=${mode}&sslrootcert=${folder}/other.pem`,
      expected: /certificate/,
    })),
    { text: `postgres://postgres@${at}?sslrootcert=${folder}/other.pem`, expected: plain },
    {
      text: `postgres://postgres@${at}?sslmode=require&sslrootcert=${folder}/absent.pem`,
      expected: tls,
    },
    { text: `postgres://postgres@${at}?sslrootcert=system`, expected: /certificate/, since: 16 },
    {
      text: `postgres://postgres@${at}?sslrootcert=system&sslmode=require`,
      expected: /sslrootcert=system requires sslmode=verify-full/,
      since: 16,
    },
    { text: `postgres://tls_only@${at}/postgres`, expected: /^tls_only postgres TLSv1.3/ },
    { text: `postgres://tls_only@${at}/postgres?sslmode=allow`, expected: /^tls_only .* TLSv1.3/ },
    { text: `postgres://tls_only@${at}/postgres?sslmode=disable`, expected: /no pg_hba.conf/ },
    { text: `postgres://plain_only@${at}/postgres`, expected: /^plain_only postgres plain/ },
    { text: `postgres://plain_only@${at}/postgres?sslmode=require`, expected: /no pg_hba.conf/ },
    {
      text: `postgres://postgres@${at}?ssl_max_protocol_version=TLSv1.2&sslsni=0`,
      expected: tls.replace("1.3", "1.2"),
    },
    {
      text: `postgres://postgres@${at}?sslcrl=${folder}/absent.crl&sslmode=verify-ca&${ca}`,
      expected: /does not support sslcrl/,
      since: Infinity,
    },
    ...[
      ["client.key", "", /^cert_user/],
      ["locked.key", "&sslpassword=key%20word", /^cert_user/],
      ["locked.key", "&sslpassword=wrong", /sslkey/],
      ["absent.key", "", /sslkey cannot be read/],
    ].map(([key, more, expected]) => ({
      text: `postgres://cert_user@${at}/postgres?sslcert=${folder}/client.pem` +
        `&sslkey=${folder}/${key}${more}&sslmode=require`,
      expected: expected as RegExp,
    })),
    {
      text: `postgres://cert_user@${at}/postgres?sslmode=require`,
      expected: /requires a valid client certificate/,
    },
    // Authentication. The first is the form of Neon, without the authority of this server.
    {
      text: `postgres://${user}/postgres?sslmode=require&channel_binding=require`,
      expected: /TLS with 127.*certificate.*channel_binding=require.*sslrootcert/s,
      since: Infinity,
    },
    ...["sslmode=require&", "sslmode=verify-ca&", "sslmode=verify-full&", ""].map((mode) => ({
      text: `postgres://${user}/postgres?${mode}channel_binding=require&${ca}`,
      expected: scram,
    })),
    // `psql` compares no names, because channel binding proves more.
    {
      text: `postgres://scram_user:${password}@localhost:${port}/postgres?hostaddr=127.0.0.1` +
        `&sslmode=require&channel_binding=require&${ca}`,
      expected: /localhost.*db\.test.*channel_binding=require/,
      since: Infinity,
    },
    {
      text: `postgres://${user}/postgres?channel_binding=require&sslrootcert=${folder}/absent.pem`,
      expected: /name the file in sslrootcert/,
      since: Infinity,
    },
    // `psql` accepts `allow` and `prefer` if the connection has TLS.
    ...["disable", "allow", "prefer"].map((mode) => ({
      text: `postgres://${user}/postgres?sslmode=${mode}&channel_binding=require&${ca}`,
      expected: /channel_binding=require needs TLS/,
      since: mode === "prefer" ? Infinity : 0,
    })),
    {
      text: `postgres://postgres@:${port}/postgres?host=${folder}&channel_binding=require`,
      expected: /channel_binding=require needs TLS/,
    },
    // The certificate proves which server this is, so another method of authentication is permitted.
    ...["md5_user", "password_user"].flatMap((name) => [
      { text: `postgres://${name}:${password}@${at}/postgres`, expected: /^(md5|password)_user/ },
      {
        text: `postgres://${name}:${password}@${at}/postgres?channel_binding=require&${ca}`,
        expected: /^(md5|password)_user postgres TLSv1.3/,
        since: Infinity,
      },
    ]),
    ...["prefer", "disable"].map((value) => ({
      text: `postgres://${user}/postgres?channel_binding=${value}`,
      expected: scram,
    })),
    { text: `postgres://${user}/postgres?channel_binding=no`, expected: /channel_binding must be/ },
    {
      text: `postgres://${user}/postgres?sslmode=disable`,
      expected: scram.replace("TLSv1.3", "plain"),
    },
    {
      text: `postgres://${user}/postgres?require_auth=scram-sha-256`,
      expected: /does not support require_auth/,
      since: Infinity,
    },
    // Settings of the session.
    {
      text: `postgres://postgres@${at}?options=-c%20work_mem%3D5MB&application_name=till`,
      expected: /till 5MB$/,
    },
    { text: `postgres://postgres@${at}?options=-cwork_mem%3D5MB`, expected: /5MB$/ },
    { text: `postgres://postgres@${at}?options=--work-mem%3D5MB`, expected: /5MB$/ },
    {
      text: `postgres://postgres@${at}?fallback_application_name=till`,
      expected: /till 4MB$/,
      since: Infinity,
    },
    { text: `postgres://postgres@${at}?client_encoding=UTF8&connect_timeout=7`, expected: tls },
    { text: `postgres://postgres@${at}?connect_timeout=soon`, expected: /connect_timeout is not/ },
    { text: `postgres://postgres@${at}?keepalives=1&keepalives_idle=20`, expected: tls },
    { text: `postgres://postgres@${at}?gssencmode=disable&krbsrvname=x`, expected: tls },
    { text: `postgres://postgres@${at}?load_balance_hosts=disable`, expected: tls, since: 16 },
    ...["load_balance_hosts=random", "sslnegotiation=direct"].map((parameter) => ({
      text: `postgres://postgres@${at}?sslmode=require&${parameter}`,
      expected: /(load_balance_hosts|sslnegotiation) must be (disable|postgres)/,
      since: Infinity,
    })),
    { text: `postgres://postgres@${at}?work_mem=5MB`, expected: /options=-c%20work_mem%3DVALUE/ },
    { text: `postgres://postgres@${at}?schema=public`, expected: /there is no parameter schema/ },
    {
      text: `postgres://postgres@${at}?connect_timout=3`,
      expected: /connect_timout\. Did you mean "connect_timeout"\? If/,
    },
    {
      text: `postgres://postgres@${at}?keepalives_count=3`,
      expected: /keepalives_count must be 0/,
      since: Infinity,
    },
    {
      text: `postgres://postgres@${at}?options=-c%20TimeZone%3DAsia/Tokyo`,
      expected: /options sets TimeZone/,
      since: Infinity,
    },
    ...["any", "read-write", "primary", "prefer-standby"].map((state) => ({
      text: `postgres://postgres@${at}?target_session_attrs=${state}`,
      expected: tls,
    })),
    ...["read-only", "standby"].map((state) => ({
      text: `postgres://postgres@${at}?target_session_attrs=${state}`,
      expected: /target_session_attrs/,
    })),
    // The environment.
    { text: "postgres://", environment: variables({ PGUSER: "postgres" }), expected: tls },
    {
      text: "postgres://",
      environment: variables({
        PGUSER: "scram_user",
        PGDATABASE: "postgres",
        PGPASSWORD: tlsPassword,
      }),
      expected: scram,
    },
    {
      text: "postgres://postgres@",
      environment: variables({
        PGSSLMODE: "disable",
        PGAPPNAME: "till",
        PGOPTIONS: "-c work_mem=5MB",
      }),
      expected: "postgres postgres plain till 5MB",
    },
    {
      text: "postgres://postgres@?sslmode=prefer",
      environment: variables({ PGSSLMODE: "disable", PGTARGETSESSIONATTRS: "any" }),
      expected: tls,
    },
    {
      text: "postgres://postgres@",
      environment: variables({ PGSSLMODE: "verify-full", PGSSLROOTCERT: `${folder}/other.pem` }),
      expected: /certificate|host name must be specified/,
    },
    // The password file of the home folder, and another one.
    ...["127.0.0.1", "*"].map((host) => ({
      text: `postgres://scram_user@${at}/postgres`,
      environment: { HOME: `${folder}/${host === "*" ? "any" : "named"}` },
      expected: scram,
    })),
    {
      text: `postgres://scram_user@${at}/postgres`,
      environment: { HOME: `${folder}/open` },
      expected: /password/,
    },
    {
      text: `postgres://scram_user@${at}/postgres?passfile=${folder}/any/.pgpass`,
      expected: scram,
    },
    {
      text: `postgres://scram_user@${at}/postgres`,
      environment: { PGPASSFILE: `${folder}/any/.pgpass` },
      expected: scram,
    },
    // Services.
    ...[
      { text: "postgres://?service=shop", PGSERVICEFILE: `${folder}/services.conf` },
      { text: "service=shop", PGSYSCONFDIR: `${folder}/system` },
      { text: "postgres://", PGSERVICE: "shop", HOME: `${folder}/any` },
    ].map(({ text, ...environment }) => ({
      text,
      environment,
      expected: "postgres postgres plain till 4MB",
    })),
    {
      text: "postgres://?service=shop&sslmode=prefer",
      environment: { PGSERVICEFILE: `${folder}/services.conf`, PGSSLMODE: "disable" },
      expected: "postgres postgres TLSv1.3 till 4MB",
    },
    {
      text: "postgres://?service=absent",
      environment: { PGSERVICEFILE: `${folder}/services.conf` },
      expected: /no service file defines the service "absent"/,
    },
    {
      text: "postgres://?service=broken",
      environment: { PGSERVICEFILE: `${folder}/services.conf` },
      expected: /line 8 of the service file/,
    },
  ];
}

async function writeFiles({ folder, port }: TlsPostgres): Promise<void> {
  const line = (host: string) =>
    `# a comment\n${host}:${port}:other:scram_user:wrong\n` +
    `${host}:*:postgres:scram_user:${tlsPassword.replaceAll(/[:\\]/g, "\\$&")}\n`;
  for (const [name, host, mode] of [["any", "*", 0o600], ["named", "127.0.0.1", 0o600]] as const) {
    await Deno.mkdir(`${folder}/${name}`);
    await Deno.writeTextFile(`${folder}/${name}/.pgpass`, line(host), { mode });
  }
  await Deno.mkdir(`${folder}/open`);
  await Deno.writeTextFile(`${folder}/open/.pgpass`, line("*"));
  await Deno.chmod(`${folder}/open/.pgpass`, 0o644);
  const services = `# services\n[shop]\nhost=127.0.0.1\nport=${port}\nuser=postgres\n` +
    `sslmode=disable\n[broken]\nno_parameter=1\n`;
  const text = services.replace("[broken]", "application_name=till\n[broken]")
    .replace("# services\n", "");
  await Deno.writeTextFile(`${folder}/services.conf`, text);
  await Deno.mkdir(`${folder}/system`);
  await Deno.writeTextFile(`${folder}/system/pg_service.conf`, text);
  await Deno.writeTextFile(`${folder}/any/.pg_service.conf`, text);
}

async function ownResponse({ text, environment }: Form, home: string): Promise<string> {
  try {
    const all: Readonly<Record<string, string>> = { HOME: home, ...environment };
    const plan = await readConnectionPlan(text, (name) => all[name]);
    const driver = await openPlan(plan, { maxConnections: 1, waitLimitMs: 20_000 });
    try {
      const { rows } = await driver.query({ text: stateText, values: [] });
      return String(rows[0]?.[0]);
    } finally {
      await driver.close();
    }
  } catch (error) {
    assert(error instanceof Error, String(error));
    return `refused: ${error instanceof DatabaseError ? reasonOf(error) : error.message}`;
  }
}

async function psqlResponse({ text, environment }: Form, home: string): Promise<string> {
  const { stdout, success } = await new Deno.Command(`${psql}/psql`, {
    args: ["-X", "-A", "-t", "-w", "-d", text, "-c", stateText],
    clearEnv: true,
    env: { HOME: home, PATH: Deno.env.get("PATH") ?? "", ...environment },
  }).output();
  return success
    ? new TextDecoder().decode(stdout).trim().replace(" psql ", " resource-api ")
    : "refused";
}

async function psqlVersion(): Promise<number> {
  const { stdout } = await new Deno.Command(`${psql}/psql`, { args: ["--version"] }).output();
  return Number(/\d+/.exec(new TextDecoder().decode(stdout))?.[0]);
}

testUnless(
  missing,
  "postgres: every form of a connection means what it means to psql",
  async () => {
    await using server = await startTlsPostgres();
    await writeFiles(server);
    const version = await psqlVersion();
    const home = `${server.folder}/nobody`;
    const wrong: string[] = [];
    for (const form of formsOf(server)) {
      const { expected, since = 0 } = form;
      const own = await ownResponse(form, home);
      const isExpected = typeof expected === "string" ? own === expected : expected.test(own);
      if (!isExpected) wrong.push(`${form.text}: ${own}`);
      if (own.includes("s3cret")) wrong.push(`${form.text} shows the password`);
      if (version < since) continue;
      const other = await psqlResponse(form, home);
      const isSame = own === other || own.startsWith("refused") && other === "refused";
      if (!isSame) wrong.push(`${form.text}: ${own}, but psql: ${other}`);
    }
    assertEquals(wrong, []);
  },
);
