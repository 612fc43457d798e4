/**
 * The error of a response whose body failed after the headers were sent. The cause has already been
 * reported, so the listener does not report the error. The client receives a truncated response.
 */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
