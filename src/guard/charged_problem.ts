import { Problem } from "../problem/problem.ts";

/** A Problem with status 5xx that the client has caused, so that it gets no refund. */
export class ChargedProblem extends Problem {}
