/** The body of a response failed after its headers were sent. The cause is already reported. */
export class ResponseAborted extends Error {
  constructor(cause: unknown) {
    super("The response was aborted", { cause });
    this.name = "ResponseAborted";
  }
}
