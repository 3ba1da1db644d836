package command

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// builtin are the commands about the program itself.
func (p *Program) builtin() Service {
	return Service{Name: "cli", Title: "The program itself", Words: "command complete completion", Entries: func() []Entry {
		return []Entry{
			{Name: "command list", Build: p.commandList},
			{Name: "complete", Build: p.completeCommand},
			{Name: "completion", Build: p.completionCommand},
			{Name: "help", Build: helpCommand},
		}
	}}
}

// All are the services of the program, with the commands about itself.
func (p *Program) All() []Service { return append(p.Services(), p.builtin()) }

func helpCommand() Command {
	return Command{
		Short: "Show what a command does and how to call it",
		Args:  []Arg{{Name: "<command>", Many: true, Optional: true, Help: "Words of the command"}},
		Run:   func(context.Context, *Call) error { return nil },
	}
}

func (p *Program) completionCommand() Command {
	return Command{
		Short: "Print a script that completes command lines",
		Long: "Load it where the shell starts, for example:\n\n" +
			"  bash:       source <(koc completion bash)\n" +
			"  zsh:        koc completion zsh > \"${fpath[1]}/_koc\"\n" +
			"  fish:       koc completion fish | source\n" +
			"  powershell: koc completion powershell | Out-String | Invoke-Expression\n\n" +
			"Words, flags, choices and names of things in the cloud are completed. Names are kept for half a minute.",
		Args: []Arg{{Name: "<shell>", Help: "Shell to print it for", Choices: []string{"bash", "zsh", "fish", "powershell"}}},
		Run: func(_ context.Context, c *Call) error {
			c.Printf("%s", script(c.Text("<shell>"), p.Name))
			return nil
		},
	}
}

func (p *Program) completeCommand() Command {
	return Command{
		Short: "Print a script that completes command lines, as the openstack client names it",
		Flags: []Flag{
			{Name: "name", Value: "<command_name>", Help: "Complete the program under this name"},
			{Name: "shell", Value: "<shell>", Default: "bash", Choices: []string{"bash", "zsh", "fish", "powershell", "none"}, Help: "Shell to print it for; none lists the commands"},
		},
		Run: func(_ context.Context, c *Call) error {
			name := c.Text("name")
			if name == "" {
				name = p.Name
				if c.Compat() {
					name = "openstack"
				}
			}
			if c.Text("shell") != "none" {
				c.Printf("%s", script(c.Text("shell"), name))
				return nil
			}
			for _, s := range p.All() {
				for _, e := range s.Entries() {
					c.Printf("%s\n", e.Name)
				}
			}
			return nil
		},
	}
}

func (p *Program) commandList() Command {
	return Command{
		Short:  "List all commands by service",
		Flags:  []Flag{{Name: "group", Value: "<group-keyword>", Help: "Show groups whose name has this in it"}},
		Output: Listed, NoWatch: true,
		Run: func(_ context.Context, c *Call) error {
			var rows [][]any
			for _, s := range p.All() {
				group := s.Name
				if c.Compat() {
					group = upstreamGroup(s.Name)
				}
				if !strings.Contains(group, c.Text("group")) {
					continue
				}
				var names []string
				for _, e := range s.Entries() {
					names = append(names, e.Name)
				}
				slices.Sort(names)
				list := make([]any, len(names))
				for i, n := range names {
					list[i] = n
				}
				rows = append(rows, []any{group, render.TextCell(strings.Join(names, "\n"), list)})
			}
			return c.List([]render.Column{{Title: "Command Group"}, {Title: "Commands"}}, render.Rows(rows))
		},
	}
}

// upstreamGroup is the name upstream has for a service.
func upstreamGroup(service string) string {
	switch service {
	case "compute", "image", "network":
		return "openstack." + service + ".v2"
	case "identity", "volume":
		return "openstack." + service + ".v3"
	}
	return "openstack." + service
}

// script is the completion of a shell for the program under a name.
func script(shell, name string) string {
	text := ""
	switch shell {
	case "bash":
		text = `# bash completion of NAME
_NAME_complete() {
    local IFS=$'\n' line word
    local cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        # Bash takes --flag=value apart: it wants the value alone.
        if [[ $cur == "=" || ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
            word=${word#*=}
        fi
        printf -v word '%q' "$word"
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -o nosort -F _NAME_complete NAME
`
	case "zsh":
		text = `#compdef NAME
_NAME_complete() {
    local -a found
    local line
    while IFS= read -r line; do
        found+=("${${line%%$'\t'*}//:/\\:}${${(M)line%%$'\t'*}:+:${line#*$'\t'}}")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe 'NAME' found
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_NAME" ]; then
    _NAME_complete "$@"
else
    compdef _NAME_complete NAME
fi
_NAME() { _NAME_complete "$@" }
`
	case "fish":
		text = `# fish completion of NAME
function __NAME_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c NAME -f -a '(__NAME_complete)'
`
	case "powershell":
		text = `# PowerShell completion of NAME
Register-ArgumentCompleter -Native -CommandName NAME -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '' }
    $rest = @($words | Select-Object -Skip 1)
    & $words[0] __complete -- @rest 2>$null | ForEach-Object {
        $text, $about = $_ -split "` + "`" + `t", 2
        if (-not $about) { $about = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $about)
    }
}
`
	}
	return strings.ReplaceAll(text, "NAME", name)
}
