/**
 * The lines of an export, each a JSON object: one header, then records, blobs and events in any order (those of one
 * owner in theirs), then an end that counts them, so that a file cut short is noticed. `partition` is where a line came
 * from.
 */
export type Line = HeaderLine | RecordLine | BlobLine | EventLine | EndLine;

export interface HeaderLine {
	flowfabric: "export";
	/** The format of the documents. */
	format: number;
	partitions: number;
}

export interface RecordLine {
	record: string;
	partition: number;
	doc: string;
}

export interface BlobLine {
	blob: string;
	partition: number;
	base64: string;
}

export interface EventLine {
	/** The owner. */
	event: string;
	partition: number;
	/** Left out by versions that had no logs: the body says it. */
	log?: string;
	group?: string;
	at: number;
	body: string;
}

export interface EndLine {
	end: Counts;
}

/** How much of each a transfer holds. */
export interface Counts {
	/** Records: executions, flows, lanes and so on, with their parts. */
	records: number;
	/** Payloads that are kept by themselves. */
	blobs: number;
	/** Events. */
	events: number;
}

/** An export that cannot be taken in; the message names the line and what is wrong with it. */
export class ImportError extends Error {
	override name = "ImportError";
	readonly line: number | undefined;
	readonly code: "import_invalid" | "store_not_empty";
	constructor(problem: string, line?: number, cause?: unknown, code: ImportError["code"] = "import_invalid") {
		super(line === undefined ? problem : `line ${line}: ${problem}`, cause === undefined ? undefined : { cause });
		this.line = line;
		this.code = code;
	}
}

type Fields = Record<string, "string" | "number">;

const forms: Record<string, Fields> = {
	flowfabric: { flowfabric: "string", format: "number", partitions: "number" },
	record: { record: "string", partition: "number", doc: "string" },
	blob: { blob: "string", partition: "number", base64: "string" },
	event: { event: "string", partition: "number", at: "number", body: "string" },
};

const optional: Record<string, Fields> = { event: { log: "string", group: "string" } };

const counts: Fields = { records: "number", blobs: "number", events: "number" };

export function parseLine(text: string, line: number): Line {
	let parsed: unknown;
	try {
		parsed = JSON.parse(text);
	} catch (error) {
		throw new ImportError("is not JSON; the file is damaged or cut short", line, error);
	}
	const fields = asObject(parsed, "", line);
	if ("end" in fields) {
		check(asObject(fields.end, "end", line), counts, line);
		return fields as unknown as EndLine;
	}
	const kind = Object.keys(forms).find((name) => name in fields);
	if (!kind) throw new ImportError("is none of header, record, blob, event, end", line);
	check(fields, forms[kind] ?? {}, line);
	for (const [name, type] of Object.entries(optional[kind] ?? {}))
		if (fields[name] !== undefined) check(fields, { [name]: type }, line);
	return fields as unknown as Line;
}

function asObject(value: unknown, field: string, line: number): Record<string, unknown> {
	if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
	throw new ImportError(`${field ? `${field}: ` : ""}must be an object`, line);
}

function check(fields: Record<string, unknown>, form: Fields, line: number): void {
	for (const [name, type] of Object.entries(form)) {
		const value = fields[name];
		if (typeof value !== type) throw new ImportError(`${name}: must be a ${type}`, line);
		if (type === "number" && !Number.isSafeInteger(value)) throw new ImportError(`${name}: must be an integer`, line);
	}
}
