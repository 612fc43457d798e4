import type { User } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { Sealer } from "../../runtime/sealer.ts";
import { memberOf, type Report, requireObjectMember, requireStringMember } from "./report.ts";

export const viewAsHeader = "service-view-as";

/** Maximum length of the user as JSON in a header. Proxies often limit a header to 8 KiB. */
const maxUserLength = 4_000;

const tokenMs = 600_000;

export interface ViewToken {
  readonly user: User | null;
  /** The expiry time, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface ViewTokenDependencies {
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly parseUser: (value: unknown) => User | null;
}

/** Creates the action that returns a token to read as another user, valid for ten minutes. */
export function createViewAsAction({ sealer, clock, parseUser }: ViewTokenDependencies): Report {
  return {
    name: "view-as",
    method: "POST",
    answer({ body }) {
      const user = readViewedUser(body, parseUser);
      if (JSON.stringify(user).length > maxUserLength) {
        throw new Problem("invalid-body", "Cannot view as this user: it is too long for a token");
      }
      const expiresAt = clock.now() + tokenMs;
      return { token: sealer.seal(JSON.stringify({ user, expiresAt }), context), expiresAt };
    },
  };
}

export function readViewedUser(
  body: unknown,
  parseUser: ViewTokenDependencies["parseUser"],
): User | null {
  if (memberOf(body, "user") === null) return null;
  const given = requireObjectMember(body, "user");
  requireStringMember(given, "id");
  return parseUser(given);
}

export function readViewToken(
  { headers }: Request,
  { sealer, clock }: Pick<ViewTokenDependencies, "sealer" | "clock">,
): ViewToken {
  const sealed = sealer.open(headers.get(viewAsHeader) ?? "", context);
  // The cast is safe: only this file seals values for this context.
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
