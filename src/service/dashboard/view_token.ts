import type { User } from "../../auth/user.ts";
import { Problem } from "../../problem/problem.ts";
import { memberOf, objectAt, textAt } from "./action_body.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import type { Report } from "./report.ts";

/** The header by which the operator requests the rights of a user. */
export const viewAsHeader = "service-view-as";

/**
 * The maximum length of a user's JSON. Its token is in a header, which is often limited to 8 KiB.
 */
const maxUserLength = 4_000;

/** Lifetime of a token of a viewed user, in milliseconds. */
const tokenMs = 600_000;

/** The content of a token. */
export interface ViewToken {
  /** Null for a caller without a credential. */
  readonly user: User | null;
  /** Expiry in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The parts of the tokens of viewed users. */
export interface ViewTokenParts {
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly parseUser: (value: unknown) => User | null;
}

/**
 * Creates the action by which the operator views the service as a user, or with `"user": null` as
 * an anonymous caller. It returns a token, which allows reads for ten minutes. The token is invalid
 * outside of the dashboard.
 */
export function createViewAsAction({ sealer, clock, parseUser }: ViewTokenParts): Report {
  return {
    name: "view-as",
    method: "POST",
    answer({ body }) {
      const given = memberOf(body, "user") === null ? null : objectAt(body, "user");
      if (given !== null) textAt(given, "id");
      const user = parseUser(given);
      if (JSON.stringify(user).length > maxUserLength) {
        throw new Problem("invalid-body", "Cannot view as this user: it is too long for a token");
      }
      const expiresAt = clock.now() + tokenMs;
      return { token: sealer.seal(JSON.stringify({ user, expiresAt }), context), expiresAt };
    },
  };
}

/** Returns the user whose view of the service a request wants. Throws a 401 for an invalid token. */
export function readViewToken(
  { headers }: Request,
  { sealer, clock }: Pick<ViewTokenParts, "sealer" | "clock">,
): ViewToken {
  const sealed = sealer.open(headers.get(viewAsHeader) ?? "", context);
  // Only this file seals values for this purpose.
  const token = sealed === null ? null : JSON.parse(sealed) as ViewToken;
  if (token === null || token.expiresAt < clock.now()) {
    throw new Problem(
      "unauthorized",
      "Cannot view as a user: the token has ended, ask for another",
    );
  }
  return token;
}

const context = "view-as";
