/** A server of OpenSearch whose responses a test changes. */

/** Answers in place of the server, or changes what it has answered; null leaves a request alone. */
export type Fault = (request: Request, answer: () => Promise<unknown>) => Promise<Response | null>;

/** A proxy between the service and the server, and what it does with the requests that come. */
export class FaultyProxy implements AsyncDisposable {
  fault: Fault | null = null;
  readonly url: string;
  readonly #node: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** `hostname` is the address at which the proxy listens. */
  constructor(node: string, hostname = "127.0.0.1") {
    this.#node = node;
    const listen = { port: 0, hostname, onListen() {} };
    this.#server = Deno.serve(listen, (request) => this.#pass(request));
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #pass(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "GET" ? null : await request.text();
    const type = headers.get("content-type");
    const forward = () =>
      fetch(`${this.#node}${pathname}${search}`, {
        ...{ method, body, headers: type === null ? {} : { "content-type": type } },
      });
    const changed = await this.fault?.(request, async () => (await forward()).json());
    return changed ?? await forward();
  }
}
