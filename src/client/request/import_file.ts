import { handle } from "../../api/handle.ts";
import type { Offers } from "../../api/checked_text.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";
import type { ImportFileOptions, ImportOutcome, ImportReport } from "../../api/imports.ts";
import type { RequestOptions } from "../../api/read_options.ts";
import type { ApiResource } from "../../api/rows.ts";
import { browserFetch } from "../environment.ts";
import { queryString } from "./query_string.ts";
import { ServiceError } from "./service_error.ts";

/** How the client sends a file, and how the service imports it. */
export interface FileImportOptions extends ImportFileOptions, RequestOptions {
  /** The format. Default: NDJSON if the type or name of a `File` is of NDJSON, otherwise CSV. */
  readonly format?: "csv" | "ndjson" | undefined;
  /** `all` writes all rows or none. `chunks` commits after each chunk. Default: `all`. */
  readonly mode?: "all" | "chunks" | undefined;
  /** The number of rows of a chunk. Default: 1,000. */
  readonly chunk?: number | undefined;
  /** True to execute the import and then roll it back. Only in the mode `all`. */
  readonly dryRun?: boolean | undefined;
  /** Called with the bytes sent so far and in total. `sent` restarts at 0 with a new attempt. */
  readonly onProgress?: ((bytes: { sent: number; total: number }) => void) | undefined;
}

/** The error of an import if the service has refused rows. */
export class ImportError extends ServiceError {
  /** Always `ImportError`. */
  override readonly name: string = "ImportError";

  /** The lines of the refused rows, and the numbers of rows that were read and written. */
  // The cast is safe: `importFile` creates this error only for a problem with these details.
  readonly report: ImportReport = this.problem?.details as unknown as ImportReport;
}

/**
 * Sends a file to the service, which creates a row for each of its records. Throws an
 * {@link ImportError} if the service refuses rows. If `signal` aborts before the service commits,
 * the service stores nothing, or in the mode `chunks` only complete chunks.
 *
 * @example
 * ```ts ignore
 * const { written } = await importFile(api.notes, input.files[0], {
 *   signal: cancelling.signal,
 *   onProgress: ({ sent, total }) => bar.value = sent / total,
 * });
 * ```
 */
export async function importFile<R extends ApiResource>(
  resource: Offers<R, "import">,
  file: Blob | string | ReadableStream<Uint8Array<ArrayBuffer>>,
  { signal, timeoutMs, format, onProgress, ...query }: FileImportOptions = {},
): Promise<ImportOutcome> {
  const { transport, path } = resource[handle];
  if (typeof file !== "string" && !(file instanceof Blob || file instanceof ReadableStream)) {
    throw new TypeError(`Cannot import ${file}: pass a File, a Blob, a string or a stream`);
  }
  // A stream can be read only once, but the client may have to send the request again.
  const body = file instanceof ReadableStream
    ? await new Response(file.pipeThrough(new TransformStream(), signal && { signal })).blob()
    : new Blob([file]);
  const { type, name } = Object(file);
  const isNdjson = format ? format === "ndjson" : ndjsonFile.test(`${type} ${name}`);
  try {
    const response = await transport.send({
      method: "POST",
      path: `${path}/import${queryString(query)}`,
      // The type states that numbers in the file have all digits, even beyond 2^53.
      headers: { "content-type": isNdjson ? "application/x-ndjson;numbers=exact" : "text/csv" },
      signal,
      // The duration depends on the file, so the default is the longest delay of a timer.
      timeoutMs: timeoutMs ?? 2 ** 31 - 1,
      fetch: (request) => upload(request, body, { onProgress, ...transport.environment }),
    });
    return await response.json();
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.problem?.details?.errors) throw error;
    throw new ImportError(error.slug, error.message, error);
  }
}

const ndjsonFile = /^application\/x-ndjson|\.(ndjson|jsonl)$/i;

async function upload(
  request: Request,
  body: Blob,
  { onProgress, fetch }: Pick<FileImportOptions, "onProgress"> & Pick<ClientEnvironment, "fetch">,
): Promise<Response> {
  // The cast is safe: `XMLHttpRequest` has these members in all runtimes that have it.
  const { XMLHttpRequest, clients } = globalThis as unknown as Partial<UploadGlobals>;
  const report = (sent: number) => onProgress?.({ sent, total: body.size });
  report(0);
  if (onProgress && XMLHttpRequest && fetch === browserFetch) {
    return await uploadInBrowser(request, body, new XMLHttpRequest(), report);
  }
  // No browser streams the body, not even a service worker (`clients`): streams need HTTP/2.
  const isStreamed = onProgress && !XMLHttpRequest && !clients;
  return await fetch(new Request(request, isStreamed ? streamed(body, report) : { body }));
}

/** Returns the body as a stream that reports how many bytes were read from it. */
function streamed(body: Blob, report: (sent: number) => void) {
  let sent = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const part = await body.slice(sent, sent + 65_536).arrayBuffer();
      if (part.byteLength === 0) return controller.close();
      report(sent += part.byteLength);
      controller.enqueue(new Uint8Array(part));
    },
  }, { highWaterMark: 0 });
  return { body: stream, duplex: "half" };
}

/** Sends the body by `XMLHttpRequest`: `fetch` does not report a body's progress. */
function uploadInBrowser(
  { method, url, headers, signal }: Request,
  body: Blob,
  xhr: Upload,
  report: (sent: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    xhr.open(method, url);
    headers.forEach((value, name) => xhr.setRequestHeader(name, value));
    xhr.upload.onprogress = ({ loaded }) => report(loaded);
    xhr.onloadend = () => {
      const { status, responseText } = xhr;
      if (status === 0) return reject(new TypeError("Failed to send the file"));
      const headers = new Headers();
      for (const [, name, value] of xhr.getAllResponseHeaders().matchAll(/(.+?): (.*)\r\n/g)) {
        headers.append(`${name}`, `${value}`);
      }
      resolve(new Response(responseText || null, { status, headers }));
    };
    signal.addEventListener("abort", () => xhr.abort());
    xhr.send(body);
  });
}

type UploadGlobals = Record<"XMLHttpRequest" | "clients", new () => Upload>;

interface Upload extends Pick<Response, "status"> {
  readonly responseText: string;
  readonly upload: { onprogress?: (event: { readonly loaded: number }) => void };
  onloadend?: () => void;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Blob): void;
  abort(): void;
}
