/** A proxy in front of Postgres that loses the response to a statement which was carried out. */
import { createConnection, createServer, type Socket } from "node:net";
import { Buffer } from "node:buffer";

export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts the connection at the response to a message with these characters, so many times. */
  cutAfter(characters: string | null, times?: number): void;
  /** Passes nothing on any more in the open connections, as a network that is gone. */
  freeze(): void;
  /** How many connections were cut since the last call of `cutAfter`. */
  cuts(): number;
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let [marker, left, cuts]: [string | null, number, number] = [null, 0, 0];
  let eras = 0;
  const server = createServer((client) => {
    const remote = createConnection({ host: hostname, port: Number(port) });
    let isMarked = false;
    const era = eras;
    for (const socket of [client, remote]) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        remote.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (era !== eras) return;
      isMarked ||= marker !== null && left > 0 && bytes.includes(marker);
      remote.write(bytes);
    });
    remote.on("data", (bytes) => {
      if (!isMarked) return void client.write(bytes);
      cuts++;
      left--;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  // The cast is safe: the server listens on a port.
  url.port = String((server.address() as { port: number }).port);
  url.hostname = "127.0.0.1";
  url.searchParams.set("sslmode", "disable");
  return {
    url: url.href,
    cutAfter(characters, times = 1) {
      marker = characters === null ? null : Buffer.from(characters).toString("hex");
      [left, cuts] = [times, 0];
    },
    freeze: () => void eras++,
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
