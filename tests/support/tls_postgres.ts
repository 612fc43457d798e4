import { runOrThrow } from "./debian_packages.ts";
import { type MortalPostgres, startMortalPostgres } from "./mortal_postgres.ts";
import { serverOwner } from "./postgres_programs.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";

/** A Postgres with TLS by an own authority, and the files that clients need. */
export interface TlsPostgres extends AsyncDisposable {
  readonly port: number;
  /** The folder of `ca.pem`, `client.pem`, `client.key` and of the socket. */
  readonly folder: string;
}

/** How the server authenticates each of its users. All have the password `s3cret/@:%`. */
const rules = `local all all trust
hostssl all tls_only all trust
hostnossl all plain_only all trust
hostssl all cert_user all cert
host all scram_user all scram-sha-256
host all md5_user all md5
host all password_user all password
hostssl all postgres all trust
host all postgres all trust
`;

/** The password of every user. */
export const tlsPassword = "s3cret/@:%";

/** Starts a server whose certificate is for `127.0.0.1` and `db.test`. */
export async function startTlsPostgres(): Promise<TlsPostgres> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-tls-" });
  await Deno.chmod(folder, 0o777);
  await makeCertificates(folder);
  await Deno.writeTextFile(`${folder}/hba.conf`, rules);
  const owner = await serverOwner();
  for (const name of ["server.key", "server.pem", "ca.pem", "hba.conf"]) {
    if (owner !== null) await Deno.chown(`${folder}/${name}`, owner.uid, owner.gid);
  }
  const server = await startMortalPostgres({
    ...{ ssl: "on", ssl_cert_file: `${folder}/server.pem`, ssl_key_file: `${folder}/server.key` },
    ...{ ssl_ca_file: `${folder}/ca.pem`, hba_file: `${folder}/hba.conf` },
    unix_socket_directories: folder,
  });
  await createUsers(server);
  return {
    port: Number(new URL(server.url).port),
    folder,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function createUsers({ url }: MortalPostgres): Promise<void> {
  const driver = await openPostgres(`${url}?sslmode=disable`);
  const names = ["tls_only", "plain_only", "cert_user", "scram_user", "password_user"];
  const create = (name: string) => `CREATE ROLE ${name} LOGIN PASSWORD '${tlsPassword}'`;
  const statements = [
    ...names.map(create),
    `SET password_encryption = md5; ${create("md5_user")}`,
  ];
  for (const text of statements.flatMap((line) => line.split("; "))) {
    await driver.transaction((connection) => connection.query({ text, values: [] }));
  }
  await driver.query({ text: `CREATE DATABASE "shop db/1"`, values: [] });
  await driver.close();
}

async function makeCertificates(folder: string): Promise<void> {
  const run = (args: readonly string[]) => runOrThrow("openssl", args, { cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  for (const name of ["ca", "other"]) {
    await run(
      ["req", "-x509", ...key, "-days", "30", "-subj", `/CN=test authority ${name}`]
        .concat(["-addext", "keyUsage=critical,keyCertSign,cRLSign"])
        .concat(["-keyout", `${name}.key`, "-out", `${name}.pem`]),
    );
  }
  const leaves = [
    ["server", "/CN=db.test", "subjectAltName=DNS:db.test,IP:127.0.0.1"],
    ["client", "/CN=cert_user", "extendedKeyUsage=clientAuth"],
  ] as const;
  for (const [name, subject, extension] of leaves) {
    await Deno.writeTextFile(`${folder}/${name}.ext`, `basicConstraints=CA:FALSE\n${extension}\n`);
    await run(["req", ...key, "-subj", subject, "-keyout", `${name}.key`, "-out", `${name}.csr`]);
    await run(["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key"]
      .concat([
        "-CAcreateserial",
        "-days",
        "30",
        "-extfile",
        `${name}.ext`,
        "-out",
        `${name}.pem`,
      ]));
    await Deno.chmod(`${folder}/${name}.key`, 0o600);
  }
  await run(["pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key"]
    .concat(["-passout", "pass:key word"]));
  await Deno.chmod(`${folder}/locked.key`, 0o600);
}
