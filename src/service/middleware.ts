/** The context of a middleware: the part of Hono's context that this service relies on. */
export interface MiddlewareContext {
  /** The request. */
  readonly req: {
    readonly raw: Request;
    readonly method: string;
    readonly path: string;
    header(name: string): string | undefined;
  };
  /** Sets a value for later middlewares; this service uses `user`. */
  set(key: string, value: unknown): void;
  /** A value that an earlier middleware set. */
  get(key: string): unknown;
  /** Sets a header of the answer. */
  header(name: string, value: string): void;
  /** Answers with JSON. */
  json(value: unknown, status?: number): Response;
  /** Answers with text. */
  text(value: string, status?: number): Response;
}

/**
 * The type of a Hono middleware. The type is that of a method, whose parameters are bivariant, so
 * that it accepts both Hono's own middlewares and plain functions of {@link MiddlewareContext}.
 */
export type Middleware = {
  run(context: MiddlewareContext, next: () => Promise<void>): Promise<Response | void>;
}["run"];

/**
 * The type of the deployer's router, mounted beside the middleware: a Hono app, or anything that
 * answers requests.
 */
export interface Router {
  /** Answers one request. */
  fetch(request: Request, ...rest: never[]): Response | Promise<Response>;
}
