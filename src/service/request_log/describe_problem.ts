import { Problem } from "../../problem/problem.ts";
import { problemCodes } from "../../protocol/problem_codes.ts";
import { isHttpException } from "../responder.ts";

export interface ProblemDescription {
  /** The code in the problem's `type`. An error of a middleware has a code like `http-418`. */
  readonly code: string;
  /** The title of the problem, or for an internal error the name of the error. */
  readonly detail: string;
}

/** Returns the title of a problem instead of its message, which can contain a value. */
export function describeProblem(error: unknown, status: number): ProblemDescription {
  if (error instanceof Problem) {
    return { code: error.slug, detail: problemCodes[error.slug].title + causeOf(error) };
  }
  if (isHttpException(error)) return { code: `http-${status}`, detail: "Refused by a middleware" };
  return { code: "internal-error", detail: nameOf(error) };
}

function causeOf({ cause, status }: Problem): string {
  return cause === undefined || status < 500 ? "" : ` (${nameOf(cause)})`;
}

/** Returns an error's name instead of its message: messages of databases contain values. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind: unknown = Reflect.get(error, "kind");
  return typeof kind === "string" ? `${error.name}: ${kind}` : error.name;
}
