import { Problem } from "../problem/problem.ts";

/** A Problem with status 5xx that the client has caused. The client gets no refund of tokens. */
export class ChargedProblem extends Problem {}
