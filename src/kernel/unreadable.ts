/** Why what is stored cannot be what its key says. */
export interface RecordFault {
	/** Empty when the document as a whole cannot be read. */
	field: string;
	problem: string;
}

/** A stored document that is not what its key says. */
export class UnreadableRecord extends Error {
	override name = "UnreadableRecord";
	readonly fault: RecordFault;
	constructor(fault: RecordFault) {
		super(`${fault.field || "the document"} ${fault.problem}`);
		this.fault = fault;
	}
}

/** What a value is, in words. */
export function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (value === undefined) return "nothing";
	if (Array.isArray(value)) return "a list";
	if (typeof value === "number" && !Number.isFinite(value)) return "no finite number";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
