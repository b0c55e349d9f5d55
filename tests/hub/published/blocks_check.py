#!/usr/bin/env python3
"""Prints the goldens of tests/model/llama_toy.h: logits of tiny models of transformers (made with 5.22.2, torch 2.15)
whose weights are sines of their index, so that the test can make them again.

    python3 tests/hub/published/blocks_check.py
"""
import torch
from transformers import (DeepseekV2Config, DeepseekV2ForCausalLM, DeepseekV3Config, DeepseekV3ForCausalLM, Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig,
                          LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config,
                          Qwen3ForCausalLM)

V=13; T=40
ids=[(7*i*i+3*i+1)%V for i in range(T)]
def fill(m):
    sd=m.state_dict()
    for n,p in sd.items():
        if n=='lm_head.weight' and m.config.tie_word_embeddings: continue
        h=0
        for c in n.encode(): h=(h*31+c)%1000003
        i=torch.arange(p.numel(),dtype=torch.float64)
        x=torch.sin(0.37*i+0.001*h)*(0.3 if p.ndim>1 else 0.2)
        if 'norm' in n and not getattr(m.config,'unit',False): x=x+1
        p.copy_(x.reshape(p.shape).float())
base=dict(vocab_size=V,hidden_size=16,intermediate_size=24,num_hidden_layers=4,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=64,rms_norm_eps=1e-5,attn_implementation='eager')
def go(name,M,c,unit=False):
    c._attn_implementation='eager'; c.unit=unit
    m=M(c).eval(); fill(m)
    with torch.no_grad():
        z=m(torch.tensor([ids])).logits[0]
    sel=[(0,0),(1,5),(7,3),(20,12),(39,0),(39,6),(39,12)]
    print('    {"%s", .golden = {%s}}, /* norm %.7g */'%(name, ', '.join('%.7ff'%float(z[r,k]) for r,k in sel), float(z.double().norm())))
go('llama',LlamaForCausalLM,LlamaConfig(**base,tie_word_embeddings=False,rope_parameters=dict(rope_theta=10000.0,rope_type='default')))
go('llama, biases',LlamaForCausalLM,LlamaConfig(**base,attention_bias=True,mlp_bias=True,tie_word_embeddings=True,rope_parameters=dict(rope_theta=10000.0,rope_type='default')))
go('llama3',LlamaForCausalLM,LlamaConfig(**base,tie_word_embeddings=True,rope_parameters=dict(rope_theta=10000.0,rope_type='llama3',factor=8.0,low_freq_factor=1.0,high_freq_factor=4.0,original_max_position_embeddings=16)))
go('yarn',LlamaForCausalLM,LlamaConfig(**base,tie_word_embeddings=True,rope_parameters=dict(rope_theta=10000.0,rope_type='yarn',factor=4.0,original_max_position_embeddings=16)))
go('mistral',MistralForCausalLM,MistralConfig(**base,head_dim=6,sliding_window=5,tie_word_embeddings=False,rope_parameters=dict(rope_theta=10000.0,rope_type='default')))
go('qwen2',Qwen2ForCausalLM,Qwen2Config(**base,use_sliding_window=True,sliding_window=7,max_window_layers=2,tie_word_embeddings=True,rope_parameters=dict(rope_theta=1000000.0,rope_type='default')))
go('qwen3',Qwen3ForCausalLM,Qwen3Config(**base,head_dim=6,tie_word_embeddings=True,rope_parameters=dict(rope_theta=1000000.0,rope_type='default')))
go('gemma2',Gemma2ForCausalLM,Gemma2Config(**base,head_dim=6,query_pre_attn_scalar=9,sliding_window=5,attn_logit_softcapping=2.0,final_logit_softcapping=3.0,hidden_activation='gelu_pytorch_tanh',tie_word_embeddings=True,rope_parameters=dict(rope_theta=10000.0,rope_type='default')),unit=True)
g3=dict(base); g3['num_hidden_layers']=6
go('gemma3',Gemma3ForCausalLM,Gemma3TextConfig(**g3,head_dim=6,query_pre_attn_scalar=9,sliding_window=5,hidden_activation='gelu_pytorch_tanh',tie_word_embeddings=True,layer_types=['sliding_attention','sliding_attention','full_attention']*2, rope_parameters={'full_attention':dict(rope_theta=1000000.0,rope_type='linear',factor=8.0),'sliding_attention':dict(rope_theta=10000.0,rope_type='default')}),unit=True)
del base['num_key_value_heads']
mla=dict(num_key_value_heads=4,kv_lora_rank=8,qk_nope_head_dim=6,qk_rope_head_dim=4,v_head_dim=5,first_k_dense_replace=100,tie_word_embeddings=True)
go('deepseek v2',DeepseekV2ForCausalLM,DeepseekV2Config(**base,**mla,q_lora_rank=None,rope_parameters=dict(rope_theta=10000.0,rope_type='default')))
go('deepseek v3',DeepseekV3ForCausalLM,DeepseekV3Config(**base,**mla,q_lora_rank=7,rope_parameters=dict(rope_theta=10000.0,rope_type='yarn',factor=4.0,original_max_position_embeddings=16,mscale=1.0,mscale_all_dim=1.0)))
