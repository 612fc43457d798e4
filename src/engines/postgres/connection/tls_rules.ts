import { createPrivateKey } from "node:crypto";
import { stat } from "node:fs/promises";
import { isIP } from "node:net";
import {
  checkServerIdentity,
  type ConnectionOptions,
  type PeerCertificate,
  type SecureVersion,
} from "node:tls";
import { readOptionalFile } from "../../../runtime/files/optional_file.ts";
import { userFile } from "./connection_files.ts";
import { type Lookup, type PostgresServer, refuse, tlsModes } from "./keywords.ts";

/** How connections to a server are encrypted, and which server is the right one. */
export interface TlsRules {
  /** `sslmode` of libpq. */
  readonly mode: string;
  /** The addition to the message of a failed handshake. */
  readonly advice: string;
  /** Reads the certificates, at each connection, since certificates are renewed. */
  options(server: PostgresServer): Promise<ConnectionOptions>;
}

/** Returns true for a mode of TLS in which no connection is without TLS. */
export function requiresTls(mode: string): boolean {
  return tlsModes.indexOf(mode) >= tlsModes.indexOf("require");
}

/** Returns the error of a TLS handshake, for example because of the server's certificate. */
export function tlsFailure(message: string, cause?: Error): Error {
  return Object.assign(new Error(message, { cause }), { name: tlsFailureName });
}

export function isTlsFailure(error: unknown): boolean {
  return error instanceof Error && error.name === tlsFailureName;
}

const tlsFailureName = "TlsFailure";

/**
 * Returns the rules that the parameters of a connection contain. Channel binding would prove that
 * the server of the connection knows the password. The library has none, so the certificate must
 * prove in its place which server this is.
 */
export function tlsOfParameters(
  get: Lookup,
  environment: Lookup,
  servers: readonly PostgresServer[],
): TlsRules {
  const isBound = get("channel_binding") === "require";
  const isOfSystem = get("sslrootcert") === "system";
  const given = get("sslmode") ?? (isOfSystem || isBound ? "verify-full" : "prefer");
  if (isBound && (!requiresTls(given) || servers.some(({ path }) => path !== null))) {
    refuse("channel_binding=require needs TLS: a host with TLS and sslmode=require or verify-full");
  }
  const mode = isBound ? "verify-full" : given;
  if (isOfSystem && mode !== "verify-full") {
    refuse("sslrootcert=system requires sslmode=verify-full");
  }
  const bindingAdvice =
    "channel_binding=require verifies the server: name the file of its authority in sslrootcert";
  const advice = isBound ? bindingAdvice : mode.startsWith("verify-") ? `sslmode=${mode}` : "";
  return {
    ...{ mode, advice: advice === "" ? "" : ` (${advice})` },
    async options(server) {
      const file = (name: string, standard: string) =>
        get(name) ?? userFile(`.postgresql/${standard}`, environment);
      const ca = isOfSystem ? null : await readOptionalFile(file("sslrootcert", "root.crt"));
      const trustsSystem = isOfSystem || isBound && get("sslrootcert") === undefined;
      if (ca === null && !trustsSystem && mode.startsWith("verify-")) {
        refuse(
          `${advice} requires the certificate of an authority: name the file in sslrootcert, or ` +
            "use sslrootcert=system for the authorities of the system",
        );
      }
      return {
        // As in libpq, every mode verifies the certificate if there is a file of authorities.
        ...{ ...(ca === null ? {} : { ca }), rejectUnauthorized: ca !== null || trustsSystem },
        checkServerIdentity: mode === "verify-full" ? nameCheck(server) : () => undefined,
        ...(get("sslcertmode") === "disable" ? {} : await ownCertificate(get, file)),
        // An empty name sends none.
        servername: get("sslsni") === "0" || isIP(server.host) !== 0 ? "" : server.host,
        // The casts are safe: `complete` has compared the values with the list of versions.
        minVersion: (get("ssl_min_protocol_version") ?? "TLSv1.2") as SecureVersion,
        maxVersion: (get("ssl_max_protocol_version") ?? "TLSv1.3") as SecureVersion,
      };
    },
  };
}

async function ownCertificate(get: Lookup, file: (name: string, standard: string) => string) {
  const [certPath, keyPath] = [file("sslcert", "postgresql.crt"), file("sslkey", "postgresql.key")];
  const cert = await readOptionalFile(certPath);
  if (cert === null) {
    return get("sslcert") === undefined ? {} : refuse("the file of sslcert cannot be read");
  }
  const key = await readOptionalFile(keyPath) ?? refuse("the file of sslkey cannot be read");
  const { mode, uid } = await stat(keyPath);
  if ((mode & (uid === 0 ? 0o037 : 0o077)) !== 0 && mode !== 0o100666) {
    refuse("other users may read the file of sslkey: use chmod 600");
  }
  try {
    const passphrase = get("sslpassword");
    const plain = createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) });
    return { cert, key: plain.export({ type: "pkcs8", format: "pem" }) };
  } catch {
    // The library's error may contain a part of the key.
    refuse("the file of sslkey is no private key, or sslpassword is not its password");
  }
}

/** Compares the name of a certificate with the host. As in libpq, an address may be a name. */
function nameCheck({ host }: PostgresServer) {
  return (_name: string, certificate: PeerCertificate): Error | undefined => {
    const isNamed = certificate.subjectaltname === undefined && certificate.subject.CN === host;
    return isNamed ? undefined : checkServerIdentity(host, certificate);
  };
}
