import type { Batch } from "../../port.ts";
import type { Question } from "../messages.ts";

/** Names of what a damaged page kept somebody from; more of them say no more. */
const MOST_NAMES = 3;

/** Whether SQLite says that the file is not what it wrote. */
export const isDamage = (error: unknown): boolean =>
	/^SQLITE_(NOTADB|CORRUPT)/.test(String((error as { code?: unknown } | undefined)?.code));

/** What is read; where the file is damaged there, something else, so that what is read beside it is still given. */
export function orOnDamage<T, E>(read: () => T, instead: E): T | E {
	try {
		return read();
	} catch (error) {
		if (isDamage(error)) return instead;
		throw error;
	}
}

/** What of a partition was asked for when damage was met; empty for questions about the whole file. */
export function subjectOf(question: Question, [partition, about]: readonly unknown[]): string {
	if (typeof partition !== "number") return "";
	return `${nameOf(question, about)} of partition ${partition}`;
}

function nameOf(question: Question, about: unknown): string {
	const name = typeof about === "string" ? about : "";
	if (question === "first" || question === "last") return `the queue ${name}`;
	if (question === "queues" || question === "queueSizes" || question === "standing") return "queues";
	if (question === "events") return `the events of ${name}`;
	if (question === "logs" || question === "oldestForgotten" || question === "trimEvents") return "events";
	if (question === "scan") return name === "" ? "records" : `the records behind ${name}`;
	if (question === "scanBlobs") return "bytes of payloads";
	return question === "readBlobs" && Array.isArray(about) ? `the bytes ${about[0]}` : "records";
}

/** What a batch would have written. */
export function subjectOfBatch(partition: number, { units }: Batch): string {
	const keys = new Set(units.flatMap(({ put, removed }) => [...put.map(({ key }) => key), ...removed]));
	const shown = [...keys].slice(0, MOST_NAMES).join(", ");
	const left = keys.size - MOST_NAMES;
	return `${shown}${left > 0 ? ` and ${left} more` : ""} of partition ${partition}`;
}
