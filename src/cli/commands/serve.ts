import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { withJson } from "../connection.ts";
import { serverParts } from "../server-parts.ts";
import { SERVER_SETTINGS } from "../settings/server-settings.ts";
import { addFlags, readSettings } from "../settings/setting.ts";
import { unknownVariables } from "../settings/unknown-variables.ts";
import { askedToStop, closeInTime } from "../stopping.ts";

export function addServe(program: Command, context: CommandContext): void {
	const command = program
		.command("serve")
		.summary("run a server")
		.description(
			"Runs a server and its engine on a store until it is asked to stop (Ctrl-C, SIGTERM); a second signal ends it at once.",
		);
	withJson(addFlags(command, SERVER_SETTINGS)).action(async (flags: { json?: boolean }) => {
		const settings = readSettings(SERVER_SETTINGS, flags, context.env);
		const asked = askedToStop(context);
		const [{ host }, { logTo }] = await serverParts();
		const log = logTo(context.terminal.output, flags.json ? { ...settings, logFormat: "json" } : settings);
		for (const warning of unknownVariables(context.env)) log.warn(warning);
		const hosted = await host(settings, log);
		await asked;
		log.info("stopping");
		await closeInTime(context, () => hosted.close());
	});
	examples(command, [
		"flowfabric serve",
		"flowfabric serve --store sqlite:/var/lib/flowfabric/work.db --log-format json",
		"FF_API_TOKEN=$(cat token) flowfabric serve --listen 0.0.0.0:9090",
	]);
}
