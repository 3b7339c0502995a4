import type { Command } from "commander";
import { FlowFabricError } from "../contract/errors.ts";
import { FlowFabric } from "../library/flowfabric.ts";
import type { CommandContext } from "./command-context.ts";
import { CLIENT_SETTINGS } from "./settings/client-settings.ts";
import { addFlags, readSettings } from "./settings/setting.ts";

/** Flags of every command that asks a server. */
export interface ServerFlags {
	url?: string;
	token?: string;
	json?: boolean;
}

const PATIENCE_MS = 5000;

export function asksServer(command: Command): Command {
	return withJson(addFlags(command, CLIENT_SETTINGS));
}

export function withJson(command: Command): Command {
	return command.option("--json", "machine-readable: one JSON document, or JSON lines for streams");
}

/** For commands that list ids. */
export function withFullIds(command: Command): Command {
	return command.option("--full-ids", "show whole ids on a terminal, too; a pipe and --json always get them");
}

/** Does `work` with a connection to the server, and parts with it whatever happens. */
export async function atServer<T>(
	context: CommandContext,
	flags: ServerFlags,
	work: (ff: FlowFabric) => Promise<T>,
): Promise<T> {
	const { url: urls, token } = readSettings(CLIENT_SETTINGS, flags, context.env);
	const first = await firstToAnswer(urls);
	const others = urls.filter((url) => url !== first);
	const ff = FlowFabric.connect([first, ...others], token === undefined ? {} : { token });
	try {
		return await work(ff);
	} finally {
		await ff.close();
	}
}

/** The client tries for long, as a program should; a person is told at once that no server is there. */
async function firstToAnswer(urls: readonly string[]): Promise<string> {
	try {
		return await Promise.any(urls.map(knock));
	} catch (error) {
		const { errors } = error as AggregateError;
		const tried = urls.map((url, n) => `${url} (${reasonOf(errors[n])})`).join(" or ");
		const message = `nobody answers at ${tried}; start a server with flowfabric serve, or name another with --url`;
		throw new FlowFabricError("unreachable", { message, cause: errors[0] });
	}
}

async function knock(url: string): Promise<string> {
	const answer = await askOpenly(url, "/healthz");
	await answer.arrayBuffer();
	return url;
}

/** Asks what needs no token. */
export function askOpenly(url: string, path: string): Promise<Response> {
	return fetch(url.replace(/\/+$/, "") + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
}

/** What `fetch` throws says little; its cause says more. */
export function reasonOf(error: unknown): string {
	const cause = (error as { cause?: { code?: string; message?: string } }).cause;
	return cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
}
