/** A body failed after its headers. The connection closes, and the cause is already reported. */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
