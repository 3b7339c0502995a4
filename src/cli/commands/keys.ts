import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { RotateSecretRequest } from "../../contract/keys.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { when } from "../format/times.ts";
import { readAll } from "../stdin.ts";

interface Flags extends ServerFlags {
	kid?: string;
	secretFile?: string;
}

export function addKeys(program: Command, context: CommandContext): void {
	const command = program
		.command("keys")
		.summary("rotate the keys that sign waitpoint tokens")
		.description("Rotates the keys that sign waitpoint tokens. --json prints the server's answer.");
	const rotate = command
		.command("rotate")
		.summary("replace the key that signs")
		.description(
			"Replaces the key that signs waitpoint tokens. Tokens signed by the previous key stay valid for its grace period.",
		)
		.option("--kid <kid>", "name of the new key; by default the next of k1, k2, …")
		.option(
			"--secret-file <path>",
			"file with the new secret, 32 to 128 bytes as hex digits; - reads it from standard input; drawn without it",
		);
	asksServer(rotate).action((flags: Flags) => {
		return atServer(context, flags, async (ff) => {
			const rotated = await ff.rotateWaitpointSecret(await requestOf(context, flags));
			if (flags.json) return context.terminal.json(rotated);
			const { kid, previousKid, previousExpiresAt } = rotated;
			context.terminal.print(`${kid} signs from now on`);
			if (previousKid !== undefined && previousExpiresAt !== undefined)
				context.terminal.print(`tokens by ${previousKid} are taken until ${when(previousExpiresAt, Date.now())}`);
		});
	});
	examples(command, [
		"flowfabric keys rotate",
		"flowfabric keys rotate --kid 2026-08 --json",
		"openssl rand -hex 32 | flowfabric keys rotate --secret-file -",
	]);
}

/** A secret comes by a file or a pipe: others on this machine may see arguments. */
async function requestOf(context: CommandContext, { kid, secretFile }: Flags): Promise<RotateSecretRequest> {
	const named = kid === undefined ? {} : { kid };
	if (secretFile === undefined) return named;
	const bytes = secretFile === "-" ? await readAll(context.stdin) : await bytesOf(secretFile);
	return { ...named, secretHex: bytes.toString().trim() };
}

function bytesOf(path: string): Promise<Buffer> {
	return readFile(path).catch((error: NodeJS.ErrnoException) => {
		throw new MisuseError(`--secret-file: ${path} cannot be read (${error.code})`);
	});
}
