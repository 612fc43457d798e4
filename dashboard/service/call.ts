import { root } from "./root.ts";
import { send } from "./session.ts";

/** A request of the dashboard that the service did not answer as it should. */
export class CallError extends Error {
  /** 0 where there was no answer. */
  readonly status: number;
  /** The body of the problem, where the answer had one. */
  readonly problem: { readonly code?: string; readonly details?: unknown } | null;

  /** Makes an error. */
  constructor(status: number, message: string, problem: CallError["problem"] = null) {
    super(message);
    this.status = status;
    this.problem = problem;
  }
}

/** Reads a report. Throws a {@link CallError}. */
export function readReport(
  name: string,
  query: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<unknown> {
  const text = new URLSearchParams(query).toString();
  return call(`${root}/report/${name}${text && `?${text}`}`, signal ? { signal } : {});
}

/** Does an action. Throws a {@link CallError}. */
export function act(name: string, body: unknown): Promise<unknown> {
  return call(`${root}/action/${name}`, posted(body));
}

/** Sends a POST to a path of the service outside of the dashboard. Throws a {@link CallError}. */
export function postToService(path: string, body: unknown): Promise<unknown> {
  return call(root.replace(/\/__service\/ui$/, "") + path, posted(body));
}

function posted(body: unknown): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

async function call(url: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await send(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new CallError(0, "The service does not answer");
  }
  const text = await response.text();
  const body = parse(text);
  if (response.ok) return body;
  const { detail } = Object(body);
  throw new CallError(
    response.status,
    typeof detail === "string" ? detail : `The service answers ${response.status}`,
    Object(body),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
