import type { Command } from "commander";
import { FlowFabric } from "../library/flowfabric.ts";
import type { Frame } from "./frame.ts";
import { CLIENT_SETTINGS } from "./settings/client-settings.ts";
import { addFlags, readSettings } from "./settings/setting.ts";

/** Flags of every command that asks a server. */
export interface ServerFlags {
	url?: string;
	token?: string;
	json?: boolean;
}

export function asksServer(command: Command): Command {
	return withJson(addFlags(command, CLIENT_SETTINGS));
}

export function withJson(command: Command): Command {
	return command.option("--json", "machine-readable: one JSON document, or JSON lines where answers stream");
}

/** Does `work` with a connection to the server, and parts with it whatever happens. */
export async function atServer<T>(frame: Frame, flags: ServerFlags, work: (ff: FlowFabric) => Promise<T>): Promise<T> {
	const { url, token } = readSettings(CLIENT_SETTINGS, flags, frame.env);
	const ff = FlowFabric.connect(url, token === undefined ? {} : { token });
	try {
		return await work(ff);
	} finally {
		await ff.close();
	}
}
