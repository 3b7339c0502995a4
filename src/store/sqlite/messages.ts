import type { OpenErrorCode } from "../port.ts";
import type { PackedBatch } from "./packed-batch.ts";
import type { SqliteFile } from "./thread/file.ts";
import type { FileOptions, OpenedFile } from "./thread/open.ts";
import type { Committed } from "./thread/partition.ts";

/** What can be asked of an open file, and what comes back: the methods of the file itself, and those of its thread. */
export interface Questions extends Omit<SqliteFile, "now" | "path" | "commitAll" | "copy"> {
	open(path: string, options: FileOptions): Omit<OpenedFile, "file"> & { file: number };
	commit(partition: number, batch: PackedBatch): Committed;
	/** Opens a copy of the file; the number is the copy's. */
	copy(): number;
}

export type Question = keyof Questions;
export type Given<Q extends Question> = Parameters<Questions[Q]>;
export type Replied<Q extends Question> = Awaited<ReturnType<Questions[Q]>>;

/**
 * Lists, since names of fields would cross with every message. The file is the number of an open one, 0 where there is
 * none yet; the time is the store's when it was asked.
 */
export type Request = [id: number, file: number, time: number, question: Question, given: readonly unknown[]];

export type Answer = [id: number, value: unknown, refused?: Refusal];

/** An error on its way between threads; with a code when a file could not be opened. */
export interface Refusal {
	message: string;
	/** SQLite found that the file is not what it wrote. */
	damaged?: true;
	code?: OpenErrorCode;
	details?: Record<string, unknown>;
}
