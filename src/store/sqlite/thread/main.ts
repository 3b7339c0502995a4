import { parentPort, receiveMessageOnPort } from "node:worker_threads";
import { StoreOpenError } from "../../port.ts";
import type { Answer, Refusal, Request } from "../messages.ts";
import { type PackedBatch, unpackBatch } from "../packed-batch.ts";
import { isDamage, subjectOf, subjectOfBatch } from "./damage.ts";
import type { Job, SqliteFile } from "./file.ts";
import { type FileOptions, openFile } from "./open.ts";

/**
 * The thread that SQLite runs on: waiting for the disk here keeps nobody else waiting. Whatever has gathered meanwhile is
 * served together: first the commits, those of one file in one transaction, then what was asked.
 */
if (!parentPort) throw new Error("is the program of a worker thread");
const port = parentPort;
const files = new Map<number, SqliteFile>();
let opened = 0;
const COULD_NOT_READ = "the file could not be read";

port.on("message", (first: Request[]) => {
	const requests = [...first];
	for (let more = receiveMessageOnPort(port); more; more = receiveMessageOnPort(port))
		for (const request of more.message as Request[]) requests.push(request);
	const commits = requests.filter(([, , , question]) => question === "commit");
	if (commits.length > 0) port.postMessage(commitByFile(commits));
	const answers = requests.filter(([, , , question]) => question !== "commit").map(answer);
	const ready = answers.filter((one) => !(one instanceof Promise));
	if (ready.length > 0) port.postMessage(ready);
	for (const later of answers) if (later instanceof Promise) void later.then((one) => port.postMessage([one]));
});

function commitByFile(commits: Request[]): Answer[] {
	const numbers = new Set(commits.map(([, file]) => file));
	return [...numbers].flatMap((number) =>
		commitTogether(
			number,
			commits.filter(([, file]) => file === number),
		),
	);
}

function commitTogether(number: number, requests: Request[]): Answer[] {
	const jobs = requests.map(([, , , , [partition, batch]]) => ({
		partition: partition as number,
		batch: unpackBatch(batch as PackedBatch),
	}));
	try {
		const file = fileAt(number);
		file.now = requests.reduce((latest, [, , time]) => Math.max(latest, time), 0);
		const committed = file.commitAll(jobs);
		return requests.map(([id], n) => [id, committed[n]]);
	} catch (error) {
		// A damaged page that one of them met is not the others' fault.
		if (isDamage(error) && requests.length > 1) return requests.flatMap((one) => commitTogether(number, [one]));
		return requests.map(([id], n) => {
			const { partition, batch } = jobs[n] as Job;
			return [id, undefined, refusal(error, number, "nothing was written", () => subjectOfBatch(partition, batch))];
		});
	}
}

function answer(request: Request): Answer | Promise<Answer> {
	const [id, number, , question, given] = request;
	const refused = (error: unknown) => refusal(error, number, COULD_NOT_READ, () => subjectOf(question, given));
	try {
		const value = ask(request);
		if (!(value instanceof Promise)) return [id, value];
		return value.then(
			(later) => [id, later],
			(error) => [id, undefined, refused(error)],
		);
	} catch (error) {
		return [id, undefined, refused(error)];
	}
}

function ask([, number, time, question, given]: Request): unknown {
	if (question === "open") {
		const [path, options] = given as [string, FileOptions];
		const { file, ...facts } = openFile(path, options);
		return { ...facts, file: keep(file) };
	}
	const file = fileAt(number);
	file.now = time;
	if (question === "copy") return file.copy().then(keep);
	if (question === "close") files.delete(number);
	const method = file[question as keyof SqliteFile] as unknown as (...given: readonly unknown[]) => unknown;
	// biome-ignore lint/plugin: as many as the question has, which is three or four
	return Reflect.apply(method, file, given);
}

function keep(file: SqliteFile): number {
	opened += 1;
	files.set(opened, file);
	return opened;
}

function fileAt(number: number): SqliteFile {
	const file = files.get(number);
	if (!file) throw new Error("the file is closed");
	return file;
}

/** `subject` names what was wanted, where that helps to find what is damaged. */
function refusal(error: unknown, number: number, outcome: string, subject: () => string): Refusal {
	const message = error instanceof Error ? error.message : String(error);
	if (error instanceof StoreOpenError) return { message, code: error.code, details: error.details };
	if (isDamage(error)) {
		const path = files.get(number)?.path ?? "the file";
		const named = subject();
		const where = named === "" ? "" : ` where it keeps ${named}`;
		const advice = "stop the engine, run `flowfabric doctor` on the file, and restore a backup";
		return { message: `${outcome}: ${path} is damaged${where} (${message}); ${advice}`, damaged: true };
	}
	return { message: `${outcome}: ${message}` };
}
