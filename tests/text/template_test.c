/* Chat templates: the texts of published formats, what the language says of white space and variables, which
   bytes came from messages, and what is refused. The expected texts of formats are those of transformers. */
#include "data/fixture.h"

#include "text/template/template.h"

static const char talk[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"U1\"},"
    "{\"role\": \"assistant\", \"content\": \"A1\"}, {\"role\": \"user\", \"content\": \"U2\"}],"
    "\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"tools\": null, \"add_generation_prompt\": true}";
static const char no_system[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"U1\"}, {\"role\": \"assistant\", \"content\": "
    "\"A1\"},"
    "{\"role\": \"user\", \"content\": \" U2 \"}], \"bos_token\": \"<s>\", \"eos_token\": \"</s>\","
    "\"add_generation_prompt\": true, \"x\": {\"b\": 1, \"a\": [1.5, null, true, \"q\\\"\\n\\u00e4\"]}, "
    "\"n\": 7}";

static hd_status try_opt(const char *source, const char *variables, const hd_template_opt *opt, hd_marked *m,
                         hd_err *err)
{
    hd_arena arena;
    hd_template *t = NULL;
    json_error_t e;
    hd_arena_init(&arena, hd_allocator_host, 0);
    json_t *given = hd_json_load(&arena, variables, strlen(variables), &e);
    assert_non_null(given);
    hd_status s = hd_template_new(&t, source, strlen(source), "t.jinja", err);
    if (!s) s = hd_template_render(t, given, opt, m, err);
    hd_template_free(t);
    hd_arena_release(&arena);
    return s;
}

static void expect(const char *source, const char *variables, const char *text)
{
    hd_marked m = {0};
    hd_err err = {0};
    hd_template_opt opt = {.now = 1721995200};
    hd_status s = try_opt(source, variables, &opt, &m, &err);
    if (s) print_message("%s\n", err.text);
    assert_int_equal(s, HD_OK);
    assert_string_equal(m.text.data ? m.text.data : "", text);
    assert_int_equal(m.text.size, m.mark.size);
    hd_marked_release(&m);
}

#define CHATML                                                                                         \
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "  \
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}" \
    "{% endif %}"
#define LLAMA3                                                                                              \
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "                 \
    "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + "     \
    "'<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content " \
    "}}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' " \
    "}}{% endif %}"
#define LLAMA31                                                                                              \
    "{{- bos_token }}\n{%- if not date_string is defined %}\n    {%- set date_string = \"26 Jul 2024\" %}\n" \
    "{%- endif %}\n{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = "                 \
    "messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n{%- else %}\n    "              \
    "{%- set system_message = \"\" %}\n{%- endif %}\n\n"                                                     \
    "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n"                                          \
    "{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n"                                                  \
    "{{- \"Today Date: \" + date_string + \"\\n\\n\" }}\n{{- system_message }}\n{{- \"<|eot_id|>\" }}\n"     \
    "{%- for message in messages %}\n    {{- '<|start_header_id|>' + message['role'] + "                     \
    "'<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}\n{%- endfor %}\n"                \
    "{%- if add_generation_prompt %}\n    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n"    \
    "{%- endif %}\n"
#define LLAMA2                                                                                               \
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = " \
    "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}"  \
    "{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == " \
    "0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% if loop.index0 == 0 and "               \
    "system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "      \
    "message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if "                 \
    "message['role'] == 'user' %}{{ bos_token + '[INST] ' + content | trim + ' [/INST]' }}{% elif "          \
    "message['role'] == 'assistant' %}{{ ' ' + content | trim + ' ' + eos_token }}{% endif %}{% endfor %}"
#define MISTRAL_V1                                                                                           \
    "{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] %}{%- set "            \
    "loop_messages "                                                                                         \
    "= messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}{{- bos_token }}{%- for "    \
    "message in loop_messages %}{%- if message['role'] == 'user' %}{%- if loop.first and system is defined " \
    "%}{{- ' [INST] ' + system + '\\n\\n' + message['content'] + ' [/INST]' }}{%- else %}{{- ' [INST] ' + "  \
    "message['content'] + ' [/INST]' }}{%- endif %}{%- else %}{{- ' ' + message['content'] + eos_token}}"    \
    "{%- endif %}{%- endfor %}"
/* The space behind [INST] is that of v3, and is not there in v3-tekken. */
#define MISTRAL_V3(SPACE)                                                                                   \
    "{%- if messages[0][\"role\"] == \"system\" %}\n    {%- set system_message = messages[0][\"content\"] " \
    "%}\n    {%- set loop_messages = messages[1:] %}\n{%- else %}\n    {%- set loop_messages = messages "   \
    "%}\n{%- endif %}\n{%- set user_messages = loop_messages | selectattr(\"role\", \"equalto\", "          \
    "\"user\") | list %}\n{{- bos_token }}\n{%- for message in loop_messages %}\n    {%- if "               \
    "message[\"role\"] == \"user\" %}\n        {%- if loop.last and system_message is defined %}\n"         \
    "            {{- \"[INST]" SPACE "\" + system_message + \"\\n\\n\" + message[\"content\"] + "           \
    "\"[/INST]\" }}\n        {%- else %}\n            {{- \"[INST]" SPACE "\" + message[\"content\"] + "    \
    "\"[/INST]\" }}\n        {%- endif %}\n    {%- elif message[\"role\"] == \"assistant\" %}\n        "    \
    "{{- \"" SPACE "\" + message[\"content\"]|trim + eos_token}}\n    {%- endif %}\n{%- endfor %}\n"
#define MISTRAL_V7                                                                                     \
    "{{- bos_token }}{%- for message in messages %}{%- if message.role == 'user' %}{{- '[INST]' + "    \
    "message.content + '[/INST]' }}{%- elif message.role == 'system' %}{{- '[SYSTEM_PROMPT]' + "       \
    "message.content + '[/SYSTEM_PROMPT]' }}{%- else %}{{- message.content + eos_token }}{%- endif %}" \
    "{%- endfor %}"
#define GEMMA                                                                                               \
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not "           \
    "supported') "                                                                                          \
    "}}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = "     \
    "'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + " \
    "message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "        \
    "'<start_of_turn>model\\n'}}{% endif %}"
#define R1                                                                                                   \
    "{% set ns = namespace(system='') %}{%- for message in messages %}{%- if message['role'] == 'system' "   \
    "%}{% set ns.system = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system}}{%- for "  \
    "message in messages %}{%- if message['role'] == 'user' %}{{'<｜User｜>' + message['content']}}"       \
    "{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{% set content " \
    "= message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}" \
    "{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endfor -%}" \
    "{% if add_generation_prompt %}{{'<｜Assistant｜><think>\\n'}}{% endif %}"
#define V31                                                                                                     \
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}"        \
    "{% elif message.role == 'user' %}{{ '<｜User｜>' + message.content }}{% else %}{% set content = "        \
    "message.content.split('</think>', 1)[1] if '</think>' in message.content else message.content %}"          \
    "{{ '<｜Assistant｜><think></think>' + content + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}" \
    "{% if add_generation_prompt %}{{ '<｜Assistant｜><think></think>' }}{% endif %}"
#define QWEN25                                                                                               \
    "{%- if messages[0]['role'] == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0]['content'] + " \
    "'<|im_end|>\\n' }}\n{%- else %}\n    {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba "       \
    "Cloud. "                                                                                                \
    "You are a helpful assistant.<|im_end|>\\n' }}\n{%- endif %}\n{%- for message in messages %}\n    {%- "  \
    "if (message.role == \"user\") or (message.role == \"system\" and not loop.first) or (message.role == "  \
    "\"assistant\" and not message.tool_calls) %}\n        {{- '<|im_start|>' + message.role + '\\n' + "     \
    "message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n{%- endfor %}\n"                           \
    "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n"
/* Only answers behind the last question keep their thinking. */
#define QWEN3                                                                                                \
    "{%- set ns = namespace(last=messages|length - 1, looking=true) %}\n{%- for message in messages[::-1] "  \
    "%}\n    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.looking and "             \
    "message.role == \"user\" and message.content is string %}\n        {%- set ns.looking = false %}\n"     \
    "        {%- set ns.last = index %}\n    {%- endif %}\n{%- endfor %}\n{%- for message in messages %}\n"  \
    "    {%- set content = message.content if message.content is string else '' %}\n    {%- set reasoning "  \
    "= "                                                                                                     \
    "'' %}\n    {%- if message.role == 'assistant' and '</think>' in content %}\n        {%- set reasoning " \
    "= content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n        {%- set "   \
    "content = content.split('</think>')[-1].lstrip('\\n') %}\n    {%- endif %}\n    {{- '<|im_start|>' + "  \
    "message.role + '\\n' }}\n    {%- if loop.index0 > ns.last and reasoning %}\n        {{- '<think>\\n' "  \
    "~ reasoning ~ '\\n</think>\\n\\n' }}\n    {%- endif %}\n    {{- content + '<|im_end|>\\n' }}\n"         \
    "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if "     \
    "enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' " \
    "}}\n    {%- endif %}\n{%- endif %}"

static void formats_of_published_models(void **state)
{
    (void)state;
#define IM(ROLE, TEXT) "<|im_start|>" ROLE "\n" TEXT "<|im_end|>\n"
#define HEAD(ROLE)     "<|start_header_id|>" ROLE "<|end_header_id|>\n\n"
    expect(CHATML, talk,
           IM("system", "S") IM("user", "U1") IM("assistant", "A1")
               IM("user", "U2") "<|im_start|>assistant\n");
    expect(LLAMA3, talk,
           "<s>" HEAD("system") "S<|eot_id|>" HEAD("user") "U1<|eot_id|>" HEAD(
               "assistant") "A1<|eot_id|>" HEAD("user") "U2<|eot_id|>" HEAD("assistant"));
    expect(
        LLAMA31, no_system,
        "<s>" HEAD("system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul "
                             "2024\n\n<|eot_id|>" HEAD("user") "U1<|eot_id|>" HEAD(
                                 "assistant") "A1<|eot_id|>" HEAD("user") "U2<|eot_id|>" HEAD("assistant"));
    expect(LLAMA2, talk, "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\nU1 [/INST] A1 </s><s>[INST] U2 [/INST]");
    expect(MISTRAL_V1, talk, "<s> [INST] S\n\nU1 [/INST] A1</s> [INST] U2 [/INST]");
    expect(MISTRAL_V3(" "), talk, "<s>[INST] U1[/INST] A1</s>[INST] S\n\nU2[/INST]");
    expect(MISTRAL_V3(""), talk, "<s>[INST]U1[/INST]A1</s>[INST]S\n\nU2[/INST]");
    expect(MISTRAL_V7, talk, "<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U1[/INST]A1</s>[INST]U2[/INST]");
    expect(GEMMA, no_system,
           "<s><start_of_turn>user\nU1<end_of_turn>\n<start_of_turn>model\nA1<end_of_turn>\n"
           "<start_of_turn>user\nU2<end_of_turn>\n<start_of_turn>model\n");
    expect(R1, talk,
           "<s>S<｜User｜>U1<｜Assistant｜>A1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜><think>\n");
    expect(QWEN25, no_system,
           IM("system", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.")
               IM("user", "U1") IM("assistant", "A1") IM("user", " U2 ") "<|im_start|>assistant\n");
}

/* What the reference says of the formats beside their common form. */
static void formats_in_special_cases(void **state)
{
    (void)state;
    hd_marked m = {0};
    hd_err err = {0};
    assert_int_not_equal(try_opt(GEMMA, talk, NULL, &m, &err), HD_OK);
    assert_non_null(strstr(err.text, "System role not supported"));
    expect(
        LLAMA31, talk,
        "<s>" HEAD("system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul "
                             "2024\n\nS<|eot_id|>" HEAD("user") "U1<|eot_id|>" HEAD(
                                 "assistant") "A1<|eot_id|>" HEAD("user") "U2<|eot_id|>" HEAD("assistant"));
    expect(LLAMA3, no_system,
           "<s>" HEAD("user") "U1<|eot_id|>" HEAD("assistant") "A1<|eot_id|>" HEAD(
               "user") "U2<|eot_id|>" HEAD("assistant"));
    expect(QWEN25, talk,
           IM("system", "S") IM("user", "U1") IM("assistant", "A1")
               IM("user", "U2") "<|im_start|>assistant\n");
    expect(QWEN3, talk,
           IM("system", "S") IM("user", "U1") IM("assistant", "A1")
               IM("user", "U2") "<|im_start|>assistant\n");
    expect(V31, talk,
           "<s>S<｜User｜>U1<｜Assistant｜><think></"
           "think>A1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜><think></think>");
}

static void history_loses_its_thinking(void **state)
{
    (void)state;
    static const char thought[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"U1\"}, {\"role\": \"assistant\", \"content\": "
        "\"<think>\\nwhy\\n</think>\\n\\nA1\"}, {\"role\": \"user\", \"content\": \"U2\"}],"
        "\"bos_token\": \"<s>\", \"add_generation_prompt\": true, \"enable_thinking\": false}";
    expect(QWEN3, thought,
           IM("user", "U1") IM("assistant", "A1")
               IM("user", "U2") "<|im_start|>assistant\n<think>\n\n</think>\n\n");
    expect(R1, thought,
           "<s><｜User｜>U1<｜Assistant｜>\n\nA1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜><think>\n");
}

/* Expected: jinja2 3.1.6 with trim_blocks and lstrip_blocks. */
static void expressions_and_white_space(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
        {"a {%- if true -%}\n b {%+ endif +%}\nc", "ab \nc"},
        {"a {# note #}\nb {#- c -#} d", "a bd"},
        {"{% raw %}{{ x }}{% endraw %}\n{{ '%}' }}", "{{ x }}%}"},
        {"{{ x|tojson }}", "{\"b\": 1, \"a\": [1.5, null, true, \"q\\\"\\nä\"]}"},
        {"{{ x|tojson(indent=2, sort_keys=true) }}",
         "{\n  \"a\": [\n    1.5,\n    null,\n    true,\n    \"q\\\"\\nä\"\n  ],\n  \"b\": 1\n}"},
        {"{{ x }}", "{'b': 1, 'a': [1.5, None, True, 'q\"\\nä']}"},
        {"{% for k, v in x|dictsort %}{{ k }}={{ v if v is number else v|length }}{{ ',' if not loop.last }}"
         "{% endfor %}",
         "a=4,b=1"},
        {"{% for i in range(5) if i != 2 %}{% if i == 4 %}{% break %}{% endif %}{% if i == 0 %}{% continue %}"
         "{% endif %}{{ i }}/{{ loop.length }}{% else %}none{% endfor %}",
         "1/43/4"},
        {"{% for i in [] %}{% else %}none{% endfor %}", "none"},
        {"{% set a = 1 %}{% for i in [1, 2] %}{{ a }}{% set a = a + i %}{{ a }}{% endfor %}{{ a }}", "12131"},
        {"{% set ns = namespace(a=0) %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}",
         "3"},
        {"{% macro f(a, b='q') %}<{{ a }}{{ b }}>{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}", "<1q><32>"},
        {"{% macro f(a, b='q') %}<{{ a }}{{ b }}>{% endmacro %}{{ f(*[1, 2]) }}{{ f(3, *'4') }}{{ f(*[]) }}",
         "<12><34><q>"},
        {"{% macro f(a, b='q') %}<{{ a }}{{ b }}>{% endmacro %}{{ f(**{'b': 1}) }}{{ f(*[2], **{'b': 3}) }}"
         "{{ f(b=4, *[5]) }}{{ [[f, (6,)]][0][0](*(7, 8)) }}",
         "<1><23><54><78>"},
        {"{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, k=4) }}{{ f() }}",
         "1(2, 3){'k': 4}(){}"},
        {"{{ 'a-b'.replace(*['-', '+']) }}{{ nothing|default(*['d']) }}{{ dict(c=1, **x).b }}", "a+bd1"},
        {"{% set t | trim %} x {{ n }} {% endset %}[{{ t }}]", "[x 7]"},
        {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1e16 }} {{ 0.1 + 0.2 }} {{ "
         "1.0 }}",
         "3 -4 2 3.5 1024 1e+16 0.30000000000000004 1.0"},
        {"{{ 'abc'[::-1] }}{{ 'äbc'[1:] }}{{ [1, 2, 3][-2:] }}{{ 'a,b'.split(',') }}",
         "cbabc[2, 3]['a', 'b']"},
        {"{{ 1 < 2 < 3 }}{{ 'a' in 'abc' }}{{ 4 not in [1] }}{{ nothing is defined }}{{ nothing }}",
         "TrueTrueTrueFalse"},
        {"{{ messages|map(attribute='role')|join('+') }}{{ messages|selectattr('role', 'equalto', "
         "'user')|list|length }}",
         "user+assistant+user2"},
        {"{{ messages[-1].content|trim ~ n ~ none }}{{ x.get('q', 'd') }}{{ x.q is none }}", "U27NonedFalse"},
        {"[{{ 'abc'[1.5:] }}{{ n[1:] }}{{ x[:1] is defined }}]{{ (-3)|safe|tojson }}", "[False]\"-3\""},
        {"{{ 'a1'|replace(1, 2) }}{{ [1, 2]|join(0) }}{{ -3 % 1.5 }}{{ 3 % -1.5 }}", "a21020.0-0.0"},
        {"{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}", "21"},
        {"{% generation %}{{ n }}{% endgeneration %}{{ strftime_now('%Y') }}", "72024"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) expect(cases[i][0], no_system, cases[i][1]);
}

static void marks_say_what_came_from_messages(void **state)
{
    (void)state;
    static const struct {
        const char *source, *text, *mark;
    } cases[] = {
        {"<{{ messages[0].content }}>{{ bos_token }}", "<U1><s>", "0110000"},
        {"{{ ('[' + messages[1].content + ']')|lower }}", "[a1]", "0220"},
        {"{{ messages[2].content|trim|replace('2', 'x<y') }}", "Ux<y", "1000"},
        {"{{ messages[2].content.split('U')[1] }}", "2 ", "11"},
        {"{{ messages[1]|tojson }}", "{\"role\": \"assistant\", \"content\": \"A1\"}",
         "0011110000111111111000011111110000220"
         "0"},
        {"{% set t %}({{ messages[0].content }}){% endset %}{{ t[1:3] ~ t|length }}", "U14", "110"},
        {"{% macro f(a) %}{{ a }}!{% endmacro %}{{ f(messages[0].content)[::-1] }}", "!1U", "011"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_marked m = {0};
        hd_err err = {0};
        ASSERT_OK(try_opt(cases[i].source, no_system, NULL, &m, &err), err);
        assert_string_equal(m.text.data, cases[i].text);
        for (size_t j = 0; j < m.mark.size; j++) m.mark.data[j] = (char)(m.mark.data[j] + '0');
        assert_string_equal(m.mark.data, cases[i].mark);
        hd_marked_release(&m);
    }
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\n{{ 1 + }}", "t.jinja, line 2: an expression is expected"},
        {"{% if x %}", "'{% elif %}' is missing"},
        {"\n\n{% for i in x %}", "t.jinja, line 3"},
        {"{{ x", "'{{' has no '}}'"},
        {"{{ 'x }}", "a string has no end"},
        {"{# x", "this comment has no end"},
        {"{% include 'x' %}", "this statement is not supported, at 'include'"},
        {"{{ x|nosuch }}", "the filter 'nosuch' is not supported"},
        {"{{ x is nosuch }}", "the test 'nosuch' is not supported"},
        {"\n{{ nothing.a }}", "t.jinja, line 2: 'a' of a value that is not defined: 'nothing'"},
        {"{{ raise_exception('no ' + messages[0].role) }}", "t.jinja, line 1: no user"},
        {"{{ 'a' + 1 }}", "'+' of a string and a integer"},
        {"{{ 9223372036854775807 }}", "a number is too long"},
        {"{{ 999999999999999999 * 99 }}", "a number gets too large"},
        {"{% break %}", "belong into a loop"},
        {"{% set x.y = 1 %}", "in a namespace alone"},
        {"\xff", "not UTF-8"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested more than"},
        {"{{ ((((1)))) }}{{ )", "no opening one"},
        {"{% macro f(a) %}{% endmacro %}\n{{ f(1, a=2) }}", "line 2: the macro 'f' has no such argument"},
        {"{% macro f(a) %}{% endmacro %}{{ f(*[1, 2]) }}", "the macro 'f' has no such argument"},
        {"{{ dict(*n) }}", "a integer has no items"},
        {"{{ dict(**n) }}", "'**' needs a dict, not a integer"},
        {"{{ dict(**{1: 2}) }}", "the name of an argument is a string"},
        {"{{ dict(b=1, **x) }}", "an argument is given twice"},
        {"{{ dict(a=1, 2) }}", "this argument belongs before"},
        {"{{ dict(**x, a=2) }}", "this argument belongs before"},
        {"{{ dict(*x, *x) }}", "this argument belongs before"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_marked m = {0};
        hd_err err = {0};
        assert_int_not_equal(try_opt(cases[i][0], no_system, NULL, &m, &err), HD_OK);
        if (!strstr(err.text, cases[i][1])) print_message("%s: %s\n", cases[i][0], err.text);
        assert_non_null(strstr(err.text, cases[i][1]));
        assert_int_equal(m.text.size, 0);
        hd_marked_release(&m);
    }
}

static void templates_that_never_end_are_stopped(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(t='x') %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
        "{% for a in range(99999) %}{{ 'long text' * 99999 }}{% endfor %}",
        "{{ 'x' * 999999999999 }}",
        "{% macro f() %}{{ varargs }}{% endmacro %}{% for a in range(99) %}{{ f(*range(9999)) }}{% endfor %}",
        "{% set ns = namespace(t=[1]) %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
    };
    hd_template_opt opt = {.steps = 100000, .bytes = 1 << 20, .memory = 1 << 22};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_marked m = {0};
        hd_err err = {0};
        assert_int_equal(try_opt(cases[i], no_system, &opt, &m, &err), HD_ELIMIT);
        hd_marked_release(&m);
    }
    char deep[4096] = "{{ ";
    memset(deep + 3, '(', 4000);
    hd_err err = {0};
    hd_marked m = {0};
    assert_int_not_equal(try_opt(deep, no_system, NULL, &m, &err), HD_OK);
}

/* Steps on long texts cost more than one: what is short to write is not short to do. */
static void long_texts_cost_what_they_take(void **state)
{
    (void)state;
    static const char *const each[] = {"s|length == i", "s.startswith(s)", "s == s ~ 'b'", "s[1:]",
                                       "s.strip('b')"};
    enum { LONG = 50000 };
    char *messages = malloc(LONG + 100), loop[200];
    int n = sprintf(messages, "{\"messages\": [{\"role\": \"user\", \"content\": \"");
    memset(messages + n, 'a', LONG);
    strcpy(messages + n + LONG, "\"}]}");
    hd_template_opt opt = {.steps = 20000, .bytes = 1 << 20, .memory = 1 << 28};
    for (size_t i = 0; i < COUNT_OF(each); i++)
        for (int often = 0; often < 2; often++) {
            hd_marked m = {0};
            hd_err err = {0};
            snprintf(loop, sizeof loop,
                     "{%% set s = messages[0].content %%}{%% for i in range(%d) %%}{%% if %s %%}{%% endif "
                     "%%}{%% endfor %%}",
                     often ? 90 : 1, each[i]);
            hd_status got = try_opt(loop, messages, &opt, &m, &err);
            if (got != (often ? HD_ELIMIT : HD_OK)) fail_msg("%s, %d: %s", each[i], often, err.text);
            hd_marked_release(&m);
        }
    free(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_of_published_models),
        cmocka_unit_test(formats_in_special_cases),
        cmocka_unit_test(history_loses_its_thinking),
        cmocka_unit_test(expressions_and_white_space),
        cmocka_unit_test(marks_say_what_came_from_messages),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(templates_that_never_end_are_stopped),
        cmocka_unit_test(long_texts_cost_what_they_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
